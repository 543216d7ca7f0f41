/**
 * Formats instants for the commands that have not moved to `lib/calendars/trading_days.ts` yet.
 *
 * @module
 */
export { showInstant } from "../../calendars/trading_days.ts";
