/**
 * Defines the members that every push has as an event.
 *
 * @module
 */

/** Members of every push. */
export interface PushedEvent {
  /** When the broker sent it, Unix milliseconds. */
  sentAt: number;
  /**
   * Difference between `sentAt` and the broker's clock, milliseconds; set only above five minutes. Until an answer
   * contains the broker's time, this machine's clock is used instead of the broker's. A large difference can mean that
   * somebody on the network sent an old push again.
   */
  offMs?: number;
  /**
   * Set if the order pushes of the stream have named two accounts, and the setting `fundAccounts` does not say
   * which are yours. The order may belong to another account: look it up in the lists.
   */
  unsureAccount?: true;
}
