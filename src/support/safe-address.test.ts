import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkedLookup, isPrivate, requireAllowed } from './safe-address.ts';

const STRICT = {
  hosts: ['ok.example', '*.fn.example'],
  privateAddresses: false,
  http: false,
  setting: 'push.allow',
};

test('M-15, M-27: only https, to hosts on the list, without credentials', () => {
  for (const url of ['https://ok.example/a', 'https://a.fn.example/', 'https://OK.example:8443/']) {
    assert.ok(requireAllowed('url', url, STRICT));
  }
  const wrong = {
    'http://ok.example/': /https/,
    'file:///etc/passwd': /https/,
    'https://bad.example/': /allow\.hosts/,
    'https://fn.example/': /allow\.hosts/,
    'https://okxexample/': /allow\.hosts/,
    'https://ok.example.evil/': /allow\.hosts/,
    'https://u:p@ok.example/': /user/,
    'https://127.0.0.1/': /allow\.hosts/,
    nonsense: /URL/,
  };
  for (const [url, message] of Object.entries(wrong)) {
    assert.throws(() => requireAllowed('url', url, STRICT), message, url);
  }
  const any = { ...STRICT, hosts: ['*'] };
  assert.ok(requireAllowed('url', 'https://bad.example/', any));
  assert.throws(() => requireAllowed('url', 'https://127.0.0.1/', any), /private/);
  const named = { ...STRICT, hosts: ['127.0.0.1', '::1', '2130706433'] };
  for (const url of ['https://127.0.0.1/', 'https://[::1]/', 'https://2130706433/']) {
    assert.throws(() => requireAllowed('url', url, named), /private/, url);
  }
});

test('M-15, M-27: addresses of this machine, of private networks and of the cloud are recognised', () => {
  for (const address of [
    ...['127.0.0.1', '10.1.2.3', '172.31.0.1', '192.168.1.1', '169.254.169.254', '100.64.0.1'],
    '168.63.129.16',
    ...['0.0.0.0', '224.0.0.1', '::1', '::', 'fd00::1', 'fe80::1', '::ffff:127.0.0.1'],
    ...['::ffff:7f00:1', '64:ff9b::7f00:1', '::127.0.0.1', '::7f00:1', '::a9fe:a9fe'],
    ...['64:ff9b:1::7f00:1', '2002:7f00:1::', '2001:0:7f00:1::', 'fec0::1', '::ffff:0:7f00:1'],
  ]) {
    assert.ok(isPrivate(address), address);
  }
  for (const address of ['8.8.8.8', '172.32.0.1', '2606:4700::1111', '::ffff:8.8.8.8']) {
    assert.ok(!isPrivate(address), address);
  }
});

test('M-15, M-27: a host name that resolves to a private address is not connected to', async () => {
  const resolved = (privateAddresses: boolean): Promise<unknown> =>
    new Promise((resolve) => {
      checkedLookup({ ...STRICT, privateAddresses })('localhost', {}, (error, address) =>
        resolve(error ?? address),
      );
    });
  assert.match(String(await resolved(false)), /must not be called/);
  assert.match(String(await resolved(true)), /^(127\.|::1)/);
});
