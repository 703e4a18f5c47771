"""What a lab, and a node in it, has of its own (unshare(1)); nothing it does there is seen outside."""

NEW = ["--net", "--mount", "--pid", "--fork", "--uts", "--propagation", "private"]
