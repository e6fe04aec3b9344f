"""The parts of exported C source; names between @ are filled in."""

from gputree.export import plan as plans

HEAD = """/* A @ESTIMATOR@, written by gputree. C99, no dependencies.
 *
 * int @NAME@_predict(const double *x, double *answer)
 *
 * takes one row and writes its answer. NAN is a missing value.
@COLUMNS@
@ANSWERS@
 * It returns 0, or n + 1 where column n holds a category that was not seen at fit, and such
 * categories are refused.
 *
 * For the bits of gputree, do not let the compiler fuse multiplications with additions: use
 * -std=c99 or -ffp-contract=off.
 */

#include <math.h>
#include <stdint.h>
#include <string.h>

"""

CATEGORY_OF_TEXT = """
/* The number of a category: NAN for NULL, one too high for a category that was not seen at fit. */
double @NAME@_level_of_text(int column, const char *text) {
    int low = FIRST_TEXT[column], high = FIRST_TEXT[column + 1];
    if (text == NULL) {
        return NAN;
    }
    while (low < high) {
        int middle = low + (high - low) / 2;
        int order = strcmp(text, TEXT[middle]);
        if (order == 0) {
            return CATEGORY_OF_TEXT[middle];
        }
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return N_CATEGORIES[column];
}
"""

CATEGORY_OF_NUMBER = """
/* The number of a category: NAN for NAN, one too high for a category that was not seen at fit. */
double @NAME@_level_of_number(int column, double value) {
    int low = FIRST_NUMBER[column], high = FIRST_NUMBER[column + 1];
    if (isnan(value)) {
        return NAN;
    }
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (value == NUMBER[middle]) {
            return CATEGORY_OF_NUMBER[middle];
        }
        if (value < NUMBER[middle]) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return N_CATEGORIES[column];
}
"""

CHECKED = """
/* Category numbers that are none become missing, one too high, or an error. */
static int checked(const double *x, double *row) {
    for (int at = 0; at < N_COLUMNS; ++at) {
        int n = N_CATEGORIES[at];
        row[at] = x[at];
        if (n < 0 || isnan(x[at])) {
            continue;
        }
        if (!(x[at] >= 0 && x[at] < n && x[at] == (int)x[at])) {
            if (UNKNOWN[at] == 0) {
                return at + 1;
            }
            row[at] = UNKNOWN[at] == 1 ? NAN : n;
        }
    }
    return 0;
}
"""

EXP = """
/* The exponential of gputree, whose bits are the same everywhere. */
static double exponential(double x) {
    static const double terms[] = {@TERMS@};
    double rounded, k, r, power, series = @LAST@;
    uint64_t bits;
    x = x < @LOWEST@ ? @LOWEST@ : x > @HIGHEST@ ? @HIGHEST@ : x;
    rounded = x * @LOG2_E@ + @ROUNDER@;
    k = rounded - @ROUNDER@;
    r = (x - k * @LN_2_HIGH@) - k * @LN_2_LOW@;
    for (int at = 0; at < @N_TERMS@; ++at) {
        series = r * series + terms[at];
    }
    bits = (uint64_t)((int)k + 1023) << 52;
    memcpy(&power, &bits, sizeof power);
    return series * power;
}
"""

OUTCOME = """
/* The entry of a category in a list, whose first is that of all it does not name. */
static int place_of(int category, int start) {
    int low = start, n = CATEGORY[start] + 1;
    while (n > 1) {
        int half = n / 2;
        low += CATEGORY[low + half] <= category ? half : 0;
        n -= half;
    }
    return CATEGORY[low] == category ? low : start;
}

/* The child that a test leads to, -1 where it cannot tell. */
static int outcome(double value, double threshold, int low, int start) {
    if (isnan(value)) {
        return -1;
    }
    if (start >= 0) {
        return CATEGORY_SLOT[place_of((int)value, start)];
    }
    return value <= threshold ? low : 1 - low;
}

/* The child of a row, -1 where the node cannot tell. */
static int slot_of(const double *x, int node) {
    int slot = outcome(x[FEATURE[node]], THRESHOLD[node], 0, CATEGORY_START[node]);
@SURROGATES@    return slot < 0 ? MISSING[node] : slot;
}
"""

SURROGATES = """    int at = FIRST_SURROGATE[node], end = FIRST_SURROGATE[node + 1];
    for (; slot < 0 && at < end; ++at) {
        slot = outcome(x[SURROGATE_FEATURE[at]], SURROGATE_THRESHOLD[at], SURROGATE_SLOT[at],
                       SURROGATE_CATEGORY_START[at]);
    }
"""

WALK = """
/* What a tree says of a row. */
static void say(const double *x, int node, double *said) {
    int row;
    while (CHILD[node] >= 0) {
        int slot = slot_of(x, node);
        if (slot < 0) {
            break;
        }
        node = CHILD[node] + slot;
    }
    row = CHILD[node] >= 0 ? STOP[node] : -1 - CHILD[node];
    memcpy(said, VALUE + (size_t)row * WIDTH, sizeof(double) * WIDTH);
}
"""

DIVIDED = """
/* What a tree says of a row: where a node cannot tell, all branches by their shares. */
static void say(const double *x, int node, double *said) {
    int place[2][MOST_PLACES], n = 1, n_next, now = 0;
    double share[2][MOST_PLACES];
    memset(said, 0, sizeof(double) * WIDTH);
    place[0][0] = node;
    share[0][0] = 1.0;
    for (; n > 0; n = n_next, now = 1 - now) {
        n_next = 0;
        /* Rows that a node can send on come before those that are divided. */
        for (int is_divided = 0; is_divided < 2; ++is_divided) {
            for (int at = 0; at < n; ++at) {
                int here = place[now][at], child = CHILD[here], slot;
                if (child < 0) {
                    const double *value = VALUE + (size_t)(-1 - child) * WIDTH;
                    for (int output = 0; !is_divided && output < WIDTH; ++output) {
                        said[output] += share[now][at] * value[output];
                    }
                    continue;
                }
                slot = slot_of(x, here);
                if (slot >= 0 && !is_divided) {
                    place[1 - now][n_next] = child + slot;
                    share[1 - now][n_next++] = share[now][at];
                }
                for (int each = child; slot < 0 && is_divided && each < child + N_CHILDREN[here];
                     ++each) {
                    if (SHARE[each] > 0.0) {
                        place[1 - now][n_next] = each;
                        share[1 - now][n_next++] = share[now][at] * SHARE[each];
                    }
                }
            }
        }
    }
}
"""

SUMMED = """
/* What the trees add up to. */
static void combine(const double *x, double *total) {
    double said[WIDTH];
    memcpy(total, START, sizeof START);
    for (int tree = 0; tree < N_TREES; ++tree) {
        say(x, ROOT[tree], said);
        for (int output = 0; output < WIDTH; ++output) {
            total[OUTPUT[tree] + output] += said[output];
        }
    }
    for (int output = 0; output < N_OUTPUTS; ++output) {
        total[output] /= DIVISOR;
    }
}
"""

VOTED = """
/* The mean say for each class. */
static void combine(const double *x, double *total) {
    double said[WIDTH];
    const double others = -1.0 / (N_OUTPUTS > 2 ? N_OUTPUTS - 1 : 1);
    memcpy(total, START, sizeof START);
    for (int tree = 0; tree < N_TREES; ++tree) {
        int best = 0;
        say(x, ROOT[tree], said);
        for (int output = 1; output < WIDTH; ++output) {
            best = said[output] > said[best] ? output : best;
        }
        for (int output = 0; output < WIDTH; ++output) {
            total[output] += output == best ? SAY[tree] : others * SAY[tree];
        }
    }
    for (int output = 0; output < N_OUTPUTS; ++output) {
        total[output] /= DIVISOR;
    }
}
"""

MEDIAN = """
/* The median of the trees by their say. */
static void combine(const double *x, double *total) {
    double said[N_TREES], own[N_TREES], reached = 0.0, all = 0.0;
    int at;
    for (int tree = 0; tree < N_TREES; ++tree) {
        double value;
        say(x, ROOT[tree], &value);
        for (at = tree; at > 0 && said[at - 1] > value; --at) {
            said[at] = said[at - 1];
            own[at] = own[at - 1];
        }
        said[at] = value;
        own[at] = SAY[tree];
    }
    for (at = 0; at < N_TREES; ++at) {
        all += own[at];
    }
    for (at = 0; at < N_TREES - 1; ++at) {
        reached += own[at];
        if (reached >= 0.5 * all) {
            break;
        }
    }
    *total = said[at];
}
"""

COMBINED = {plans.SUM: SUMMED, plans.VOTES: VOTED, plans.MEDIAN: MEDIAN}

SHARES = """    most = total[0];
    for (int at = 1; at < N_OUTPUTS; ++at) {
        most = total[at] > most ? total[at] : most;
    }
    for (int at = 0; at < N_OUTPUTS; ++at) {
        answer[at] = exponential(total[at] - most);
        volume = at == 0 ? answer[0] : volume + answer[at];
    }
    for (int at = 0; at < N_OUTPUTS; ++at) {
        answer[at] /= volume;
    }
"""

ANSWERS = {
    plans.IDENTITY: "    memcpy(answer, total, sizeof total);\n",
    plans.EXPONENTIAL: "    answer[0] = exponential(total[0]);\n",
    plans.LOGISTIC: """    answer[1] = 1.0 / (1.0 + exponential(-total[0]));
    answer[0] = 1.0 - answer[1];
""",
    plans.SOFTMAX: "    double most, volume = 0.0;\n" + SHARES,
    plans.SAMME: """    double most, volume = 0.0;
#if N_OUTPUTS == 2
    total[1] = (total[1] - total[0]) / 2;
    total[0] = -total[1];
#elif N_OUTPUTS > 2
    for (int at = 0; at < N_OUTPUTS; ++at) {
        total[at] /= N_OUTPUTS - 1;
    }
#endif
"""
    + SHARES,
}

COMBINE = """
/* The combinations of columns of a row, behind its values. */
static void add_up(double *row) {
    for (int at = 0, term = 0; at < N_COMBINATIONS; ++at) {
        double total = 0.0;
        for (int left = N_TERMS[at]; left > 0; --left, ++term) {
            double product = row[TERM_COLUMN[term]] * TERM_WEIGHT[term];
            total += product;
        }
        row[N_COLUMNS + at] = total;
    }
}
"""

PREDICT = """
int @NAME@_predict(const double *x, double *answer) {
    double row[N_COLUMNS], total[N_OUTPUTS];
    int refused = checked(x, row);
    if (refused) {
        return refused;
    }
    combine(row, total);
@ANSWER@    return 0;
}
"""
