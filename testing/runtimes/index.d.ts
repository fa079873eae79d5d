/** Paths of the runtimes that were installed for this platform, where they were; `node20` is the oldest supported. */
export declare const node20: string | undefined
export declare const node22: string | undefined
export declare const node24: string | undefined
export declare const node26: string | undefined
export declare const bun: string | undefined
export declare const deno: string | undefined
