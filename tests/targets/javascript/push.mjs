// Push notifications on the official JavaScript SDK, which looks neither at the address that it is told to call nor at
// where that leads on: an agent that is reached from outside has to.

import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';

import { installed } from './sdk.mjs';

const { DefaultPushNotificationSender, InMemoryPushNotificationStore } = await import(
  new URL('@a2a-js/sdk/dist/server/index.js', installed)
);
const { RequestMalformedError } = await import(new URL('@a2a-js/sdk/dist/errors/index.js', installed));

const inside = new BlockList();
for (const [net, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
]) {
  inside.addSubnet(net, prefix, 'ipv4');
  inside.addSubnet(`::ffff:${net}`, 96 + prefix, 'ipv6');
}
for (const [net, prefix] of [
  ['::', 127],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
]) {
  inside.addSubnet(net, prefix, 'ipv6');
}

/** Whether a URL leads out of this network. */
const leadsOutside = async (url) => {
  const { protocol, hostname } = new URL(url);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  if (!['http:', 'https:'].includes(protocol)) {
    return false;
  }
  const addresses = isIP(host) ? [{ address: host }] : await lookup(host, { all: true });
  return addresses.every(({ address }) => !inside.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4'));
};

/** Keeps only callbacks that lead outside, or below the one receiver that the operator names. */
class PushStore extends InMemoryPushNotificationStore {
  constructor(receiver) {
    super();
    this.receiver = receiver;
  }

  async save(taskId, context, config) {
    const known = this.receiver !== undefined && config.url.startsWith(this.receiver);
    if (!known && !(await leadsOutside(config.url).catch(() => false))) {
      throw new RequestMalformedError('this callback is not called');
    }
    await super.save(taskId, context, config);
  }
}

/** A store that looks at addresses, and a sender that follows no redirect: the handler's last arguments. */
export const screened = (receiver) => {
  const { fetch } = globalThis;
  globalThis.fetch = (url, how) => fetch(url, { redirect: 'manual', ...how });
  const store = new PushStore(receiver);
  return [store, new DefaultPushNotificationSender(store)];
};

// the SDK prints a line for each notification
console.info = () => {};
