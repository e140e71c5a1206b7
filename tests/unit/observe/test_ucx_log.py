"""What UCX 1.23 prints, as it was seen."""

from __future__ import annotations

from launcher.observe.ucx_log import complaints, lane

AT = "[1796119912.880721] [vm:14056:0]"
LOG = f"""\
{AT}      ucp_worker.c:1997 UCX  INFO    prefill self cfg#0 rma_am(tcp/lo)  amo_am(tcp/lo)  am(tcp/lo)  ka(tcp/lo)
{AT}   +--------+-------------+-----------------------------------+
{AT}   | prefill self cfg#0                                        |
{AT}   | remote memory write by ucp_put* from host memory to host |
{AT}   | 0..inf | zero-copy   | self/memory                       |
{AT}   | prefill intra-node cfg#1                                   |
{AT}   | remote memory write by ucp_put* from host memory to host |
{AT}   +--------+-------------+-----------------------------------+
{AT}   | Range  | Description |              Config               |
{AT}   +--------+-------------+-----------------------------------+
{AT}   | 0..2047 | short       | tcp/eth0                         |
{AT}   | 2048..inf | zero-copy | cma/memory                       |
{AT}   | prefill intra-node cfg#1                          |
{AT}   | active message by ucp_am_send* from host memory |
{AT}   | 16516..inf | multi-frag copy-in | tcp/lo        |
"""


def test_the_lane_of_large_writes_to_the_other_process() -> None:
    assert lane(LOG) == ("cma/memory", "zero-copy")
    assert lane("nothing") == (None, None)


def test_complaints_without_time_and_place_each_once() -> None:
    log = f"""\
{AT}  ucp_context.c:1100 UCX  WARN  network device 'x' is not available
{AT}  ucp_context.c:1100 UCX  WARN  network device 'x' is not available
{AT}  select.c:657  UCX  ERROR   no active messages transport to <no debug data>
{AT}  x.c:1 UCX  INFO  fine
E1201 10:11:52.636201  14056 ucx_backend.cpp:12] Failed to create engine
"""
    assert complaints(log) == (
        "network device 'x' is not available",
        "no active messages transport to <no debug data>",
        "Failed to create engine",
    )
