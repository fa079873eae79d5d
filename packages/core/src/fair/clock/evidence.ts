// What counts as evidence, wherever the fair clock asks for some. One idea has one constant, whoever uses it.

/** What is called sure is beyond chance by this many standard errors. */
export const SURE = 2
/** Failures up to this share are no trouble. */
export const TOLERATED = 0.03
/** Requests of late: those over which means are taken, and of which a run without failure tells something. */
export const LATELY_REQUESTS = 100
/** Less time, or fewer requests, tell no rate. */
export const RATE_SECONDS = 2
export const RATE_REQUESTS = 30
/** Mean delays after which the outcomes of what was let in are known, all but a few. */
export const DELAYS = 4
