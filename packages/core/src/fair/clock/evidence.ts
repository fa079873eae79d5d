// Thresholds of evidence for all parts of the fair clock. One idea has one constant for all its uses.

/** Standard errors beyond which a difference counts as certain. */
export const SURE = 2
/** Failures up to this share are tolerated. */
export const TOLERATED = 0.03
/** Number of recent requests: means are taken over them, and a run without failure of this length is significant. */
export const LATELY_REQUESTS = 100
/** Shorter times, or fewer requests, define no rate. */
export const RATE_SECONDS = 2
export const RATE_REQUESTS = 30
/** Mean delays after which all but a few outcomes of admitted requests are known. */
export const DELAYS = 4
