// In place of `node/channels.ts` where a runtime has no channels: nobody can listen, and bundlers leave the calls out.

export function tellRefused(): void {}
export function tellFinished(): void {}
export function tellEngaged(): void {}
export function tellWaiting(): void {}
