"""Audits of nodes as testinfra modules: of a user's own hosts, and of the nodes of a lab that is up.

    pytest --hosts=ssh://root@h1,ssh://root@h2 --pyargs stormpool.audit
    pytest --hosts=stormpool://LAB/client1 --pyargs stormpool.audit

A `test_NOUN.py` says what must not be; `NOUN.py` finds it in what a node shows, and asks nothing. What a
finding is judged by is the kernel's and ZFS's own word, never an agent's.
"""
