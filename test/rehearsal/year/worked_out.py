"""Works out a year of rebalancing, and writes the golden files monthly.txt and bands.txt. Uses no code of hsgate.

    python3 test/rehearsal/year/worked_out.py [FOLDER]

Inputs: the stored daily bars (lib/simulator/market/data/bars.json) and monthly_seen.txt and bands_seen.txt, which contain
what only the simulated market knows: the account before the first day, the first price of each day, and each fill. The
program derives the first prices up to 2025-08-15 from the bars again, and fails if one differs. Everything else is worked
out here, with exact numbers: the plans (by a search over all combinations of lots that could be better), fees, dividends,
the split, and the cash and holdings of each day. It also fails if a purchase uses the cash buffer. The tables below are
facts about the market, written here a second time.
"""
import json
import os
import sys
from fractions import Fraction

HERE = os.path.dirname(os.path.abspath(__file__))

# Ex-date, pay day, cash per share, new shares for one old share.
ACTIONS = {
    "00005.HK": [("2025-03-06", "2025-04-25", "2.791007", 1), ("2025-05-08", "2025-06-20", "0.78", 1)],
    "00700.HK": [("2025-05-16", "2025-05-30", "4.50", 1)],
    "00941.HK": [("2025-06-06", "2025-06-26", "2.49", 1)],
    "01211.HK": [("2025-06-10", "2025-08-06", "4.335", 3)],
    "09618.HK": [("2025-04-07", "2025-04-29", "3.90", 1)],
    "09988.HK": [("2025-06-11", "2025-07-10", "1.95", 1)],
}
LOTS = {
    "00005.HK": 400, "00027.HK": 1000, "00700.HK": 100, "00823.HK": 100, "00939.HK": 1000, "00941.HK": 500,
    "01211.HK": 500, "01299.HK": 200, "02020.HK": 200, "09618.HK": 50, "09988.HK": 100,
}
REITS = {"00823.HK"}  # no stamp duty since 2024-12-21
LEAST_TRADE = 5000
RECIPES = {
    "monthly": {
        "targets": {"00700.HK": "0.30", "00005.HK": "0.25", "01211.HK": "0.20", "09988.HK": "0.22"},
        "buffer": 70000,
        "excluded": set(),
        "band": None,
    },
    "bands": {
        "targets": {
            "00005.HK": "0.30", "01211.HK": "0.25", "09988.HK": "0.25", "00941.HK": "0.10", "00700.HK": "0.02",
        },
        "buffer": 20000,
        "excluded": {"00700.HK"},
        "band": (Fraction("0.03"), Fraction("0.25")),
    },
}


def lot_of(symbol, day):
    return 100 if symbol == "01211.HK" and day >= "2025-09-19" else LOTS[symbol]


def tick_of(price, day):
    """The price step of a stock in Hong Kong, as price steps were in 2025."""
    new = day >= "2025-08-04"
    steps = [("0.25", "0.001"), ("0.5", "0.005"), ("10", "0.01"), ("20", "0.01" if new else "0.02")]
    steps += [("50", "0.02" if new else "0.05"), ("100", "0.05"), ("200", "0.1"), ("500", "0.2"), ("1000", "0.5")]
    return next(Fraction(tick) for up_to, tick in steps if price <= Fraction(up_to))


def half_up(value, places):
    unit = 10**places
    return Fraction((value * unit + Fraction(1, 2)) // 1, unit)


def round_up(value):
    return Fraction(-(-value // 1))


def text(value, places=2, least=None):
    """A decimal text, rounded half to even; `least` decimals stay."""
    scaled = round(value * 10**places)
    digits = str(abs(scaled)).rjust(places + 1, "0")
    whole, part = digits[:-places], digits[-places:]
    while part and part.endswith("0") and len(part) > (places if least is None else least):
        part = part[:-1]
    return ("-" if scaled < 0 else "") + whole + ("." + part if part else "")


def plain(value, places=12):
    return text(value, places, 0)


def fees_of(symbol, day, fills):
    """The fees of one order in Hong Kong. The broker merges the fills of an order, and charges their whole amount once."""
    amount = sum(quantity * price for quantity, price in fills)
    settlement = half_up(amount * Fraction("0.000042"), 2)
    if day < "2025-06-30":
        settlement = min(Fraction(100), max(Fraction(2), half_up(amount * Fraction("0.00002"), 2)))
    fees = {
        "commission": max(Fraction(3), half_up(amount * Fraction("0.0003"), 2)),
        "platformFee": Fraction(15),
        "stampDutyOrSecFee": Fraction(0) if symbol in REITS else round_up(amount * Fraction("0.001")),
        "tradingFeeOrTaf": max(Fraction("0.01"), half_up(amount * Fraction("0.0000565"), 2)),
        "tradingLevy": max(Fraction("0.01"), half_up(amount * Fraction("0.000027"), 2)),
        "disputeCouncilLevy": half_up(amount * Fraction("0.0000015"), 2),
        "settlementFee": settlement,
    }
    fees["total"] = sum(fees.values())
    return fees


def opens_from_bars():
    """The first prices of the stored bars, by symbol and day. Days without volume have no real bar."""
    with open(os.path.join(HERE, "../../../lib/simulator/market/data/bars.json"), encoding="utf-8") as file:
        packed = json.load(file)
    days = packed["dates"]["HK"].split(" ")
    opens = {}
    for symbol in LOTS:
        close, rows = 0, []
        for day, row in zip(days, packed["rows"][symbol].split(";")):
            first, _, _, last, volume = (int(part) for part in row.split(" "))
            rows.append([day, Fraction(close + first, 1000), Fraction(close + last, 1000), volume])
            close += last
        # The bars before an ex-date are scaled. One share was worth `ratio` of the new shares and the cash.
        for ex_date, _, cash, ratio in reversed(ACTIONS.get(symbol, [])):
            before = [row for row in rows if row[0] < ex_date]
            factor = ratio + Fraction(cash) / before[-1][2]
            for row in before:
                row[1], row[2] = half_up(row[1] * factor, 4), half_up(row[2] * factor, 4)  # as stored prices are
        for day, first, _, volume in rows:
            tick = tick_of(first, day)
            if volume > 0:
                opens[symbol, day] = half_up(first / tick, 0) * tick
    return opens


def best_trades(free, day, positions, cash, buffer):
    """The trades with the least sum of squared differences from the targets, and of these the least turnover.

    `positions` has (symbol, quantity, price, wanted value). The search takes one symbol after the other. It leaves out a
    branch only if even the best choice of each later symbol gives no better sum, or if all sales of later symbols leave
    too little cash. Returns the sum, the turnover, the cost with fees, the quantities, and whether the cash limits
    them.
    """
    options = []
    for symbol, held, price, wanted in positions:
        lot = lot_of(symbol, day)
        found = [((held * price - wanted) ** 2, Fraction(0), 0, Fraction(0))]
        if symbol in free:
            most = int((sum(p[1] * p[2] for p in positions) + cash) / price / lot)
            for lots in range(-(held // lot), most + 1):
                quantity = lots * lot
                value = abs(quantity) * price
                if quantity == 0 or value < LEAST_TRADE:
                    continue
                cost = quantity * price + fees_of(symbol, day, [(abs(quantity), price)])["total"]
                found.append((((held + quantity) * price - wanted) ** 2, value, quantity, cost))
        options.append(sorted(found))
    least = [min(option[0] for option in each) for each in options]
    cheapest = [min(option[3] for option in each) for each in options]
    best = [None]

    def search(place, total, turnover, cost, chosen):
        if place == len(options):
            if cash - cost >= buffer and (best[0] is None or (total, turnover) < best[0][:2]):
                best[0] = (total, turnover, cost, chosen)
            return
        rest, cheap = sum(least[place + 1:]), sum(cheapest[place + 1:])
        for squared, value, quantity, price in options[place]:
            if best[0] is not None and total + squared + rest > best[0][0]:
                return
            if cash - cost - price - cheap >= buffer:
                search(place + 1, total + squared, turnover + value, cost + price, chosen + [quantity])

    search(0, Fraction(0), Fraction(0), Fraction(0), [])
    return best[0] + (best[0][0] > sum(least),)


class Year:
    def __init__(self, name, known):
        self.name, self.known, self.recipe = name, known, RECIPES[name]
        self.lines, self.opens, self.fills, self.derived, self.plans, self.short = [], {}, {}, 0, 0, 0
        with open(os.path.join(HERE, name + "_seen.txt"), encoding="utf-8") as file:
            self.read(file.read().splitlines())

    def read(self, lines):
        self.cash = Fraction(lines[0].split(" ")[1])
        self.held = {s: int(q) for s, q in (each.split(" ") for each in lines[1][len("holds "):].split(", "))}
        for line in lines[2:]:
            day, kind, rest = line.split(" ", 2)
            if kind == "opens":
                self.opens[day] = {s: Fraction(p) for s, p in (each.split(" ") for each in rest.split(", "))}
                self.fills[day] = []
            else:  # 09:30:13 order 1 of the plan: sell 1000 01299.HK at 52.95
                words = rest.split(" ")
                self.fills[day].append({
                    "time": words[0], "order": int(words[2]), "ours": words[5] == "plan:", "side": words[6],
                    "quantity": int(words[7]), "symbol": words[8], "price": Fraction(words[10]),
                })
        for day, prices in self.opens.items():
            for symbol, price in prices.items():
                if (symbol, day) in self.known:
                    assert price == self.known[symbol, day], (day, symbol, str(price), str(self.known[symbol, day]))
                    self.derived += 1

    def tell(self, day, what):
        self.lines.append(f"{day} {what}")

    def work(self):
        days, owed = sorted(self.opens), []
        shown = (None, None)
        for place, day in enumerate(days):
            if place > 0:
                self.book(days[place - 1], day)
            before = days[place - 1] if place > 0 else "2025-01-01"
            for symbol, actions in ACTIONS.items():
                for ex_date, pay_day, cash, ratio in actions:
                    if before < ex_date <= day and self.held.get(symbol, 0) > 0:
                        owed.append((pay_day, half_up(Fraction(cash) * self.held[symbol], 2)))
                        self.held[symbol] *= ratio
            due = sorted(text(amount) for pay_day, amount in owed if pay_day <= day)
            for amount in due:
                self.tell(day, f"dividend {amount}")
                self.cash += Fraction(amount)
            owed = [each for each in owed if each[0] > day]
            now = (text(self.cash), ", ".join(f"{s} {q}" for s, q in sorted(self.held.items())))
            if now[0] != shown[0]:
                self.tell(day, f"cash {now[0]}")
            if now[1] != shown[1]:
                self.tell(day, f"holds {now[1]}")
            shown = now
            is_last = place + 1 == len(days) or days[place + 1][:7] != day[:7]
            plan = self.plan(day) if self.name == "bands" or is_last else None
            self.trade(day, plan)
        return "\n".join(self.lines) + "\n"

    def plan(self, day):
        targets = {symbol: Fraction(weight) for symbol, weight in self.recipe["targets"].items()}
        prices, band = self.opens[day], self.recipe["band"]
        symbols = sorted(set(self.held) | set(targets))
        value = self.cash + sum(quantity * prices[symbol] for symbol, quantity in self.held.items())
        weights = {symbol: self.held.get(symbol, 0) * prices[symbol] / value for symbol in symbols}
        drift = {symbol: weights[symbol] - targets.get(symbol, 0) for symbol in symbols}
        free = {
            symbol for symbol in symbols
            if symbol not in self.recipe["excluded"] and (
                band is None or abs(drift[symbol]) > band[0]
                or abs(drift[symbol]) > band[1] * targets.get(symbol, 0)
            )
        }
        positions = [
            (symbol, self.held.get(symbol, 0), prices[symbol], targets.get(symbol, 0) * value) for symbol in symbols
        ]
        total, _, cost, chosen, is_short = best_trades(free, day, positions, self.cash, self.recipe["buffer"])
        if not any(chosen):
            return None
        self.plans += 1
        self.short += is_short
        trades = dict(zip(symbols, chosen))
        after = {symbol: (self.held.get(symbol, 0) + trades[symbol]) * prices[symbol] / value for symbol in symbols}
        self.tell(day, f"plan value {text(value)}, cash {text(self.cash)}")
        for symbol in symbols:
            quantity, price = trades[symbol], prices[symbol]
            fees = "0" if quantity == 0 else text(fees_of(symbol, day, [(abs(quantity), price)])["total"])
            self.tell(day, f"plan {symbol} {self.held.get(symbol, 0)} at {plain(price)}, weight {plain(weights[symbol])} "
                           f"of {plain(targets.get(symbol, 0))}, trades {quantity} for {fees}, "
                           f"weight after {plain(after[symbol])}")
        squared = [sum(each**2 for each in drift.values()), total / value**2]
        self.tell(day, f"plan leaves cash {text(self.cash - cost)}, squared drift "
                       f"{plain(squared[0], 20)} to {plain(squared[1], 20)}")
        return trades, targets, prices, value

    def trade(self, day, plan):
        done, ours = {}, {}
        for fill in self.fills[day]:
            sign = 1 if fill["side"] == "buy" else -1
            symbol, quantity = fill["symbol"], sign * fill["quantity"]
            if fill["ours"]:
                assert plan is not None, (day, "an order without a plan")
                done[symbol] = done.get(symbol, 0) + quantity
                ours.setdefault((fill["order"], symbol), []).append((fill["quantity"], fill["price"]))
            self.cash -= quantity * fill["price"]
            self.held[symbol] = self.held.get(symbol, 0) + quantity
            assert self.held[symbol] >= 0, (day, symbol, "sold more than it held")
            if self.held[symbol] == 0:
                del self.held[symbol]
            if fill["ours"] and quantity > 0:
                left = self.cash - sum(fees_of(s, day, fills)["total"] for (_, s), fills in ours.items())
                assert left >= self.recipe["buffer"], (day, "the purchases have used the cash buffer", str(left))
        if plan is None:
            return
        trades, targets, prices, value = plan
        lines = []
        for symbol, quantity in trades.items():
            filled = done.pop(symbol, 0)
            assert abs(filled) <= abs(quantity) and filled * quantity >= 0, (day, symbol, "more than the plan")
            if quantity != 0:
                side = "buy" if quantity > 0 else "sell"
                lines.append(f"plan did {side} {abs(filled)} of {abs(quantity)} {symbol}, {abs(quantity - filled)} remain")
            trades[symbol] = filled
        assert not done, (day, done)
        for line in sorted(lines):
            self.tell(day, line)
        owner = {fill["symbol"]: (1 if fill["side"] == "buy" else -1) * fill["quantity"]
                 for fill in self.fills[day] if not fill["ours"]}
        reached = sum(((self.held.get(symbol, 0) - owner.get(symbol, 0)) * prices[symbol] / value
                       - targets.get(symbol, 0)) ** 2 for symbol in trades)
        self.tell(day, f"plan reached squared drift {plain(reached, 20)}")

    def book(self, traded, day):
        orders = {}
        for fill in self.fills[traded]:
            orders.setdefault((fill["order"], fill["symbol"]), []).append((fill["quantity"], fill["price"]))
        for (order, symbol), fills in sorted(orders.items()):
            fees = fees_of(symbol, traded, fills)
            items = ", ".join(f"{item} {text(amount)}" for item, amount in sorted(fees.items()))
            self.tell(day, f"fees of order {order}: {symbol} {sum(quantity for quantity, _ in fills)}: {items}")
            self.cash -= fees["total"]


known = opens_from_bars()
for name in RECIPES:
    year = Year(name, known)
    folder = sys.argv[1] if len(sys.argv) > 1 else HERE
    with open(os.path.join(folder, name + ".txt"), "w", encoding="utf-8", newline="\n") as file:
        file.write(year.work())
    print(f"{name}: {len(year.opens)} days, {year.plans} plans, of which the cash limits {year.short}, {len(year.lines)} figures; "
          f"{year.derived} first prices agree with the stored bars")
