import asyncio
import hashlib
import unittest

from holdfast.errors import UnreadableValue
from holdfast.values import INLINE_BYTES_MAX, decode, encode


class Blobs:
    def __init__(self):
        self.kept = {}

    async def put(self, digest, data):
        self.kept[digest] = data

    async def get(self, digest):
        return self.kept[digest]


def there_and_back(value):
    async def play():
        blobs = Blobs()
        envelope = await encode(value, blobs.put)
        return envelope, blobs, await decode(envelope, blobs.get)

    return asyncio.run(play())


class Values(unittest.TestCase):
    def test_json_comes_back_as_it_was(self):
        for value in (None, True, 0, -2.5, "お茶 🍵", [], {}, {"a": [1, {"b": None}]}):
            envelope, blobs, back = there_and_back(value)
            self.assertEqual(back, value)
            self.assertEqual((list(envelope), blobs.kept), (["v"], {}))

    def test_a_tuple_is_a_list_at_once_as_in_a_replay(self):
        self.assertEqual(there_and_back((1, 2))[2], [1, 2])

    def test_a_large_value_is_put_as_a_blob_under_its_digest(self):
        value = "é" * INLINE_BYTES_MAX
        envelope, blobs, back = there_and_back(value)
        self.assertEqual(back, value)
        [(digest, data)] = blobs.kept.items()
        self.assertEqual(digest, hashlib.sha256(data).hexdigest())
        self.assertEqual(envelope, {"ref": digest, "size": len(data)})

    def test_a_value_that_is_not_json_is_refused(self):
        for value in (object(), float("nan"), {1, 2}):
            with self.assertRaises((TypeError, ValueError)):
                there_and_back(value)

    def test_no_value_is_none_and_sealed_or_tagged_values_are_refused(self):
        blobs = Blobs()
        self.assertIsNone(asyncio.run(decode({}, blobs.get)))
        for envelope in ({"v": "x", "enc": "aes"}, {"v": 1, "by": "c"}, {"v": 1, "tagged": True}):
            with self.assertRaises(UnreadableValue):
                asyncio.run(decode(envelope, blobs.get))


if __name__ == "__main__":
    unittest.main()
