"""What the library advises to users of Python, in words of the command line."""

import re

# By patterns of messages; the tests bring about each of them.
CURES = (
    (
        r"column '([^']*)' (.*); give it a category dtype, list it in categorical_features, or use "
        r"C45Classifier",
        r"column '\1' \2; give --category '\1', or --model c45",
    ),
    (r", or make one with gputree\.make_criterion\. A model file keeps .*", ""),
    (r"\. Use device='auto' to run on the CPU", "; leave --device out to run on the CPU"),
    (
        r"set pruning=None, or prune in another way, or fit on the whole table that "
        r"gputree\.files\.read_file gives",
        "give --set pruning=none or another method, or leave --stream out",
    ),
)


def of_command_line(message: str) -> str:
    """A message with the cures that a command offers."""
    for pattern, cure in CURES:
        message = re.sub(pattern, cure, message)
    return message
