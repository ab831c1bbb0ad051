import json
import unittest

from holdfast.history import History
from holdfast.ids import new_execution_id, question_id
from holdfast.errors import StepError
from holdfast.pipeline import Retry


def event(seq, kind, **body):
    return {"seq": seq, "at": 1000 * seq, "kind": kind, "body": json.dumps(body)}


class Histories(unittest.TestCase):
    def test_settlements_keep_the_order_of_the_history(self):
        history = History.read(
            [
                {"seq": 1, "at": 1, "kind": "submitted"},
                {"seq": 2, "at": 2, "kind": "claimed", "fence": 7},
                event(3, "step-completed", key="step:b#1", out={"v": 2}),
                event(4, "step-completed", key="step:a#1", out={"v": 1}),
                event(5, "cancel-requested", key="", n=4),
            ]
        )
        self.assertEqual([each.key for each in history.settlements], ["step:b#1", "step:a#1", ""])
        self.assertEqual([each.needs_call for each in history.settlements], [True, True, False])
        self.assertEqual((history.openings, history.taken), ({}, {4}))

    def test_failed_attempts_open_a_step_and_the_last_one_settles_it(self):
        failure = {"category": "retryable", "code": "x", "message": "y"}
        begun = [
            event(3, "step-failed", key="step:a#1", failure=failure, attempt=1, retryInMs=500),
            event(4, "step-failed", key="step:a#1", failure=failure, attempt=2, retryInMs=900),
        ]
        opening = History.read(begun).openings["step:a#1"]
        self.assertEqual((opening.failed, opening.due), (2, 4900))
        ended = [*begun, event(5, "step-failed", key="step:a#1", failure=failure, attempt=3)]
        history = History.read(ended)
        self.assertEqual((history.openings, len(history.settlements)), ({}, 1))

    def test_timers_and_questions_are_open_until_they_settle(self):
        history = History.read(
            [
                event(3, "timer-set", key="sleep:nap#1", ms=50),
                event(4, "timer-set", key="sleep:late#1", until=99),
                event(5, "await-opened", key="await:ok#1", items=1, needed=1),
                event(6, "timer-fired", key="sleep:nap#1"),
                event(7, "paused", why="paused", taken=[1, 2]),
            ]
        )
        due = {key: opening.due for key, opening in history.openings.items()}
        self.assertEqual(due, {"sleep:late#1": 99, "await:ok#1": None})
        self.assertEqual((history.has_awaited, history.taken), (True, {1, 2}))


    def test_patches_and_the_calls_of_the_last_park(self):
        history = History.read(
            [
                event(3, "progressed", log="…", inside=True, patch="patch:fee#1"),
                event(4, "parked", **{"for": ["signal:go#1", "signal:stop#1"]}),
                event(5, "signal-received", key="signal:go#1", n=1),
            ]
        )
        self.assertEqual((history.patches, history.waiting), ({"patch:fee#1"}, {"signal:stop#1"}))

    def test_a_retry_of_the_execution_forgets_the_failure_of_its_step(self):
        failure = {"category": "retryable", "code": "down", "message": "down"}
        history = History.read(
            [
                event(3, "step-completed", key="step:a#1", out={"v": 1}),
                event(4, "step-failed", key="step:b#1", failure=failure, attempt=5),
                event(5, "given-back", why="retrying", attempt=1, redo="step:b#1"),
            ]
        )
        self.assertEqual([each.key for each in history.settlements], ["step:a#1"])

    def test_attributes_begin_with_those_before_the_first_change(self):
        first = {"key": "attributes:set#1", "set": {"stage": "packing"}, "before": {"hold": True}}
        second = {"key": "attributes:set#2", "set": {"hold": None}}
        lines = [event(n, "progressed", log="…", attributes=each) for n, each in ((3, first), (4, second))]
        history = History.read(lines)
        changes = {"attributes:set#1": {"stage": "packing"}, "attributes:set#2": {"hold": None}}
        self.assertEqual((history.attributes, history.attributes_before), (changes, {"hold": True}))


class Retries(unittest.TestCase):
    def test_pauses_grow_up_to_the_maximum_and_end_with_the_attempts(self):
        retry = Retry(attempts=4, initial=1, factor=10, maximum=50, jitter=0)
        pauses = [retry.delay_after(failed, 0, OSError()) for failed in (1, 2, 3, 4)]
        self.assertEqual(pauses, [1, 10, 50, None])

    def test_a_permanent_failure_is_not_tried_again_and_retry_after_decides(self):
        self.assertIsNone(Retry().delay_after(1, 0, StepError("no", category="permanent")))
        self.assertEqual(Retry().delay_after(1, 0, StepError("later", retry_after=7)), 7)


class Ids(unittest.TestCase):
    def test_ids_are_uuids_of_version_7_and_questions_follow_from_their_call(self):
        pattern = r"^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"
        for _ in range(100):
            self.assertRegex(new_execution_id(), pattern)
        made = [new_execution_id() for _ in range(1_000)]
        self.assertEqual(made, sorted(made))
        self.assertEqual(len({id[24:] for id in made}), len(made))
        # The example of docs/reference/worker-protocol.md.
        id = question_id("01890a5d-ac96-774b-bcce-b302099a8057", "await:approval#1")
        self.assertEqual(id, "01890a5d-ac96-73df-ac67-24778ba9939a")


if __name__ == "__main__":
    unittest.main()
