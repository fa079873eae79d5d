// Replaces `node/channels.ts` on runtimes without channels: there are no subscribers, and bundlers drop the calls.

export function tellRefused(): void {}
export function tellFinished(): void {}
export function tellEngaged(): void {}
export function tellWaiting(): void {}
