"""Rows of values to leaves of many trees, and to the sum of what the leaves add."""

import numpy as np

from gputree.kernels import categories
from gputree.kernels.cuda.gpu import cuda, function, kernel, losses

place_of = function(categories.place_of)


def make_descend(has_categories, stay):
    """Walk a row down a tree that compares with thresholds and perhaps looks categories up.

    A slot of `stay` says that the row ends where it is.
    """

    @function
    def descend(
        row, n_rows, start, values, column, threshold, missing_slot, first_child, category_start,
        category, category_slot,
    ):  # fmt: skip
        """The node, counted from `start`; column[node] is the block of values that a node tests.

        `row` is one of `n_rows`; `start` is the root.
        """
        node = np.int64(0)
        child = first_child[start]
        while child >= 0:
            at = start + node
            value = values[column[at] * n_rows + row]
            slot = 1 if value > threshold[at] else 0
            is_known = value == value
            if has_categories and is_known and category_start[at] >= 0:
                slot = int(category_slot[place_of(np.int64(value), category_start[at], category)])
                is_known = slot != stay
            if not is_known:
                slot = int(missing_slot[at])
            if slot == stay:
                child = -1
            else:
                node = np.int64(child + slot)
                child = first_child[start + node]
        return node

    return descend


@kernel
def divide_sums(n_outputs, n_rows, total, divisor, answer):
    """answer[row * n_outputs + i] = total[i * n_rows + row] / divisor."""
    at = np.int64(cuda.grid(1))
    while at < n_outputs * n_rows:
        answer[at] = total[at % n_outputs * n_rows + at // n_outputs] / divisor
        at += cuda.gridsize(1)


@kernel
def name_largest(n_outputs, n_rows, total, divisor, label, answer):
    """answer[row] = label[i] for the first i of the largest total[i * n_rows + row] / divisor.

    A single output tells of two labels: it is above 0 for the second.
    """
    row = np.int64(cuda.grid(1))
    while row < n_rows:
        largest, number = total[row] / divisor, 0
        if n_outputs == 1 and label.shape[0] > 1 and largest > 0.0:
            number = 1
        for i in range(1, n_outputs):
            own = total[i * n_rows + row] / divisor
            if own > largest:
                largest, number = own, i
        answer[row] = label[number]
        row += cuda.gridsize(1)


def make_linked(source, is_of_classes):
    """What a link makes of sums: shares of classes, or one number a sum."""
    forms = losses()
    if source is None:
        highest, volume, exp = forms.highest, forms.volume, forms.exp

        @kernel
        def share_sums(n_outputs, n_rows, total, answer):
            """answer[row * n_outputs + i] is the share of the class i."""
            row = np.int64(cuda.grid(1))
            while row < n_rows:
                own = total[row::n_rows]
                most = highest(own, n_outputs)
                whole = volume(own, most, n_outputs)
                for i in range(n_outputs):
                    answer[row * n_outputs + i] = exp(own[i] - most) / whole
                row += cuda.gridsize(1)

        return share_sums
    of_sum = source(forms)

    @kernel
    def link_sums(n_outputs, n_rows, total, answer):
        """The same of two classes, by the share of the second, or the link of each sum."""
        at = np.int64(cuda.grid(1))
        n_each = np.int64(2) if is_of_classes else np.int64(n_outputs)
        while at < n_each * n_rows:
            row, i = at // n_each, at % n_each
            if is_of_classes:
                second = of_sum(total[row])
                answer[at] = second if i == 1 else 1.0 - second
            else:
                answer[at] = of_sum(total[i * n_rows + row])
            at += cuda.gridsize(1)

    return link_sums


@kernel
def turn_leaves(n_trees, n_rows, leaf, turned):
    """turned[row * n_trees + tree] = leaf[tree * n_rows + row]."""
    at = np.int64(cuda.grid(1))
    while at < np.int64(n_trees) * n_rows:
        turned[at] = leaf[at % n_trees * n_rows + at // n_trees]
        at += cuda.gridsize(1)


def make_leaves_of(has_categories, stay):
    """The leaves of rows in all trees."""
    descend = make_descend(has_categories, stay)

    @kernel
    def leaves_of(
        n_trees, n_rows, values, root, column, threshold, missing_slot, first_child, category_start,
        category, category_slot, leaf,
    ):  # fmt: skip
        """leaf[tree * n_rows + row]."""
        row = np.int64(cuda.grid(1))
        while row < n_rows:
            for tree in range(n_trees):
                leaf[tree * n_rows + row] = descend(
                    row, n_rows, root[tree], values, column, threshold, missing_slot, first_child,
                    category_start, category, category_slot,
                )  # fmt: skip
            row += cuda.gridsize(1)

    return leaves_of


def make_sum_leaves(has_categories, stay):
    """The sums of what the leaves of rows add, tree after tree."""
    descend = make_descend(has_categories, stay)

    @kernel
    def sum_leaves(
        n_trees, n_rows, values, root, column, threshold, missing_slot, first_child, category_start,
        category, category_slot, width, leaf_value, output, n_outputs, initial, total,
    ):  # fmt: skip
        """total[(output[tree] + i) * n_rows + row] += leaf_value[(root[tree] + leaf) * width + i].

        Neighbouring rows have neighbouring sums, which a warp reads and writes at once.
        A leaf has `width` values.
        """
        row = np.int64(cuda.grid(1))
        while row < n_rows:
            for i in range(n_outputs):
                total[i * n_rows + row] = initial[i]
            for tree in range(n_trees):
                node = root[tree] + descend(
                    row, n_rows, root[tree], values, column, threshold, missing_slot, first_child,
                    category_start, category, category_slot,
                )  # fmt: skip
                for i in range(width):
                    total[(output[tree] + i) * n_rows + row] += leaf_value[node * width + i]
            row += cuda.gridsize(1)

    return sum_leaves
