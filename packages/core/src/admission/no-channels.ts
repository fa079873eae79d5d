// Replaces `node/channels.ts` on runtimes without channels: nothing can listen, and bundlers leave the calls out.

export function tellRefused(): void {}
export function tellFinished(): void {}
export function tellEngaged(): void {}
export function tellWaiting(): void {}
