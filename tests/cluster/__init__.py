"""Everything for real, on a cluster that is there for it: `RAWKUBE_TEST_KUBECONFIG=FILE pytest -m cluster`.

    RAWKUBE_TEST_KUBECONFIG       the kubeconfig; its user may create Namespaces, Roles, and all that is in them
    RAWKUBE_TEST_IMAGE            a busybox (docker.io/library/busybox:1.35), pulled where it is not on the node
    RAWKUBE_TEST_RESTART_COMMAND  a shell command that restarts the API server, for the tests that need that

Each worker of pytest-xdist makes a namespace `rawkube-test-…` (label `rawkube-test=suite`) and deletes it at its end;
nothing outside of these is changed. Only Pods, no Services, no DNS, one node. `kind.yaml` starts such a cluster.
"""
