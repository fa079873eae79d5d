// In place of `node/channels.ts` where a runtime has no channels: nobody can listen.

export const refused = undefined
export const finished = undefined
export const engaged = undefined
export const waits = undefined
