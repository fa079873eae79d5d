import { DrawingEscrow } from './drawing-escrow.js'
import { type LeasedEscrowOptions, leasedSettings } from './options.js'

/**
 * Weighted fair escrow for a fleet: many processes split one budget per window. Each draws credit from a pool in a
 * shared store, a quantum at a time, and splits it between its tenants by the rule of one process. So most checks are
 * answered at once, and a few wait for one call to the store.
 *
 * - All processes together never spend more than `limit` in a window of the store's clock: whatever crashes, whichever
 *   calls are lost or late, and whatever the processes' own clocks say. A process that crashes takes the credit it had
 *   drawn with it, until the window ends.
 * - Processes get about as their tenants weigh, whoever asks more often; what some leave, others borrow.
 * - Calls to the store: about `limit / quantum` per window for the whole fleet, and a few per process.
 * - Credit that is not spent from for a tenth of a window goes back, by a timer, the only one there is.
 *
 * A tenant that is active in several processes weighs in each of them. That is fair as long as tenants are spread
 * alike, as a load balancer spreads them; where they are not, {@link FederatedFairEscrow} splits the weight by demand.
 *
 * @see S. Shreedhar, G. Varghese, "Efficient Fair Queuing Using Deficit Round Robin", SIGCOMM 1995, for quanta
 */
export class LeasedFairEscrow extends DrawingEscrow {
  /** Throws a `RangeError` or `TypeError` that names the option and its value. */
  constructor(options: LeasedEscrowOptions) {
    super(leasedSettings(options))
  }
}
