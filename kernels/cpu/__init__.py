"""Compiled loops for the CPU: serial, free of the interpreter lock, each over a range of items.

Whoever calls them hands out ranges to threads; no two ranges write to the same place, so the
number of threads cannot change a result. Arguments have the same names everywhere; docstrings tell
of all others.

begin, end
    The range of items.
code, by_row, spot
    Codes, (features, rows); the same by row, of row r at by_row[spot[r]], empty where not laid out.
label, value, weight
    What the rows of a table add to sums, empty where there is none: class, (outputs, rows), weight.
word
    Both sums of a row in one: hessian and gradient, or the weights of two classes; see `words`.
order, start, n_rows
    The rows of node k are order[start[k]:][:n_rows[k]].
hist, place, offset
    Sums of nodes, those of node k in hist[place[k]]; offset[f] is the first bin of feature f.
n_codes, n_values
    How many codes a feature has, and how many of them stand for values.
is_ordered, rank, n_drawn
    Which features have thresholds; the turn of each in the draw of a node, empty where all are
    tried; how many are tried.
shape, rules, unit
    Whether channels are classes, how many are scored, whether the last counts rows, and how many
    there are; the criterion, least rows and least weight of a child, and the ridge; what 1 in each
    scored channel is worth.
cells, seen, n_seen
    The sums of the codes of one feature; the codes that occur, in order.
channel, amount, values
    What the rows of a node add to which channel.
total, own, total_real
    The sums of a node, as integers, and scored ones in their units.
best, left
    The best split so far (`winner`), and the sums of its left child.
score, winner, left_sums
    The same of each node when it is settled: feature, code, next code, child of missing values.
room, running, scratch, prefix, which, near, bits, every
    Scratch memory: prefix sums of candidates and which these are, codes of rows side by side, a bit
    per code, the numbers of rows.
"""
