"""What the driver is asked to do, seen by a stand-in for libcuda (`drive`)."""

from __future__ import annotations

import textwrap


def test_the_first_and_the_second_call(drive):
    said, calls = drive("""
        k = runner(shared_bytes=48 * 1024)
        k(x, y, 2.5)
        k(Array(0x3000, 77, stream=0x50), Array(0x4000, 77, stream=0x50), 1)
        print(device_target(), driver_version(), current_device())
    """)
    assert said == ["sm_90a (12, 4) <Fake H, cuda:0, sm_90>"]
    assert calls == [
        "retain",
        "current primary",
        "jit current=primary capture=2 registers=0 lines=0 log=65536",
        "load capture=2",
        "set 8 49152",
        "launch 8 1 1 | 128 1 1 | 49152 | (nil) | 0",
        "params 1000 2000 2.5 1000",
        "launch 1 1 1 | 128 1 1 | 49152 | 0x50 | 0",
        "params 3000 4000 1 77",
    ]


def test_nothing_is_launched_for_nothing(drive):
    _, calls = drive("""
        runner()(Array(0, 0), Array(0, 0), 1.0)
        k = runner(grid=lambda dims: 0)
        k(x, y, 1.0)
        k.prepare(Array(0, 0), Array(0, 0), 1.0)()
    """)
    assert not [call for call in calls if call.startswith("launch")]


def test_one_module_for_each_text_and_device(drive):
    _, calls = drive("""
        runner().preload(); runner().preload(); runner(max_registers=40).preload()
        runner(PTX.replace("ret;", ".loc 1 7 0\\nret;")).preload()
    """)
    assert [call for call in calls if call.startswith("jit")] == [
        "jit current=primary capture=2 registers=0 lines=0 log=65536",
        "jit current=primary capture=2 registers=40 lines=0 log=65536",
        "jit current=primary capture=2 registers=0 lines=1 log=65536",
    ]


def test_a_thread_without_a_context(drive):
    _, calls = drive("""
        k = runner()
        k(x, y, 1.0)
        thread = threading.Thread(target=lambda: k(x, y, 1.0))
        thread.start()
        thread.join()
    """)
    assert calls[-4:] == [
        "launch 8 1 1 | 128 1 1 | 0 | (nil) | 201",
        "current primary",
        "launch 8 1 1 | 128 1 1 | 0 | (nil) | 0",
        "params 1000 2000 1 1000",
    ]


def test_many_threads_do_not_mix_their_arguments(drive):
    _, calls = drive("""
        k = runner()
        def work(me):
            for i in range(200):
                k(Array(me << 20, me), Array(me << 20, me), float(me))
        threads = [threading.Thread(target=work, args=(me,)) for me in range(1, 6)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    """)
    packed = [call for call in calls if call.startswith("params")]
    assert len(packed) == 1000
    assert set(packed) == {f"params {me << 20:x} {me << 20:x} {me} {me}" for me in range(1, 6)}


def test_the_jits_log_is_shown_with_both_lines(drive):
    said, _ = drive("""
        refused(runner(PTX.replace("ret;", "add.f33 BAD;"), line_map={5: "k.py:7  x + y"}).preload)
    """)
    assert said == [
        "LoadError: the driver's JIT refused the PTX on Fake H (sm_90): CUDA_ERROR_INVALID_PTX",
        "  PTX line 5: add.f33 BAD;",
        "    from k.py:7  x + y",
        "    error: Unknown modifier '.f33'",
    ]


def test_targets_and_versions_that_do_not_fit(drive):
    said, calls = drive("""
        for target in ("sm_100", "sm_100a", "sm_89", "sm_90a"):
            refused(runner(PTX.replace("sm_90", target)).preload)
        refused(runner(PTX.replace("8.0", "9.0")).preload)
        refused(runner(entry="absent").preload)
        refused(runner(PTX.replace("8.0", "8.5")).preload)
    """)
    assert said == [
        "LoadError: PTX written for .target sm_100 does not run on Fake H, whose architecture is sm_90: a plain target runs on its "
        "own architecture and newer ones (PTX ISA 11.1.2)",
        "LoadError: PTX written for .target sm_100a does not run on Fake H, whose architecture is sm_90: an 'a' target runs on its "
        "own architecture only (PTX ISA 11.1.2)",
        "accepted",
        "accepted",
        "LoadError: .version 9.0 is newer than the driver: CUDA 12.4 understands PTX up to 8.4. Use a lower .version or a newer "
        "driver (580 or newer)",
        "LoadError: the module has no entry called 'absent'",
        "accepted",
    ]
    assert calls[-2:] == ["image ELF", "load capture=2"]  # 8.5 is too new for this driver's JIT: assembled here.


def test_limits(drive):
    said, calls = drive("""
        for options in (
            dict(grid=(1, 70000)), dict(grid=1 << 31), dict(grid=-1), dict(grid=(1, 2, 3, 4)), dict(block=2048), dict(block=1024),
            dict(block=(1, 1, 65)), dict(block=0),
            dict(shared_bytes=231425), dict(shared_bytes=231424), dict(shared_bytes=512 << 10),
            dict(grid=3, cluster=2), dict(grid=4, cluster=32), dict(grid=265, cooperative=True),
        ):
            refused(lambda: runner(**options)(x, y, 1.0))
    """)
    assert said == [
        "LaunchError: saxpy: grid.y = 70000; a grid has 1 to 65535 blocks along y; put the large axis into x",
        "LaunchError: saxpy: grid.x = 2147483648; a grid has 1 to 2147483647 blocks along x",
        "LaunchError: saxpy: grid.x = -1; a grid has 1 to 2147483647 blocks along x",
        "LaunchError: grid = (1, 2, 3, 4) has 4 axes; x, y and z are all there are",
        "LaunchError: saxpy: block.x = 2048; Fake H allows 1 to 1024",
        "LaunchError: saxpy: block (1024, 1, 1) has 1024 threads; the entry allows 512 (it uses 64 registers a thread; see "
        ".maxntid and .maxnreg, PTX ISA 11.4)",
        "LaunchError: saxpy: block.z = 65; Fake H allows 1 to 64",
        "LaunchError: saxpy: block.x = 0; Fake H allows 1 to 1024",
        "LaunchError: saxpy: 1024 static and 231425 dynamic bytes of shared memory are 232449 bytes a block; Fake H has 232448",
        "accepted",
        "LaunchError: saxpy: 1024 static and 524288 dynamic bytes of shared memory are 525312 bytes a block; Fake H has 232448",
        "LaunchError: saxpy: grid.x = 3 is no multiple of cluster.x = 2",
        "LaunchError: saxpy: cluster (32, 1, 1) has 32 blocks; 1 to 8 are portable, up to 16 possible",
        "LaunchError: saxpy: a cooperative launch runs all blocks at once; 265 were asked for and 264 fit on Fake H (2 a multiprocessor)",
    ]
    assert len([call for call in calls if call.startswith("launch")]) == 1


def test_clusters_and_cooperative_launches(drive):
    _, calls = drive("""
        runner(grid=4, block=32, cluster=(2, 1, 1))(x, y, 1.0)
        runner(grid=4, block=32, cooperative=True)(x, y, 1.0)
        runner(grid=16, block=32, cluster=16)(x, y, 1.0)
    """)
    assert [call for call in calls if call.split()[0] in ("launchex", "cluster", "cooperative", "set")] == [
        "launchex 4 1 1 | 0 | 1",
        "cluster 2 1 1",
        "launchex 4 1 1 | 0 | 1",
        "cooperative 1",
        "set 14 1",
        "launchex 16 1 1 | 0 | 1",
        "cluster 16 1 1",
    ]


def test_a_prepared_launch(drive):
    _, calls = drive("""
        again = runner().prepare(x, y, 3.0)
        again()
        again(stream=0x77)
        runner().prepare(x, y, 3.0, stream=0x99)()
    """)
    assert [call for call in calls if call.startswith(("launch", "params"))] == [
        "launch 8 1 1 | 128 1 1 | 0 | (nil) | 0",
        "params 1000 2000 3 1000",
        "launch 8 1 1 | 128 1 1 | 0 | 0x77 | 0",
        "params 1000 2000 3 1000",
        "launch 8 1 1 | 128 1 1 | 0 | 0x99 | 0",
        "params 1000 2000 3 1000",
    ]


def test_arrays_on_different_streams(drive):
    said, _ = drive("""
        refused(lambda: runner()(Array(0x1000, 4, stream=0x50), Array(0x2000, 4, stream=0x60), 1.0))
        k = runner()
        k.run(k.binder(Array(0x1000, 4, stream=0x50), Array(0x2000, 4, stream=0x60), 1.0, stream=0x50))
    """)
    assert said == [
        "ArgumentError: saxpy: the arguments 'x', 'y' come from libraries that work on different streams; order them and pass "
        "stream= to launch(...)"
    ]


def test_an_earlier_kernels_fault(drive):
    said, _ = drive("refused(lambda: runner()(x, y, 1.0))", FAKE_CUDA_LAUNCH_STATUS="700")
    assert said == [
        "DriverError: launching saxpy on Fake H with grid (8, 1, 1), block (128, 1, 1), 0 dynamic shared bytes: "
        "CUDA_ERROR_ILLEGAL_ADDRESS (a description). An earlier kernel failed; the context is lost and the process must be "
        "restarted. Run the kernel in the emulator (NumPy arguments) to see the line, thread and address"
    ]


def test_host_arrays_are_no_gpu_arguments(drive):
    said, _ = drive("""
        import numpy as np
        refused(lambda: runner()(np.zeros(4, np.float32), np.zeros(4, np.float32), 1.0))
        refused(lambda: runner()(x, np.zeros(1000, np.float32), 1.0))
        runner(on_host=lambda bound: print(bound.dims, bound.device))(np.zeros(4, np.float32), np.ones(4, np.float32), 1.0)
    """)
    assert said == [
        "ArgumentError: saxpy: the arguments are in host memory; the GPU takes CUDA arrays",
        "ArgumentError: saxpy: arguments live on different devices: 'x' on cuda:0, 'y' on the host; move them to one",
        "(4,) None",
    ]


def test_the_generated_call_of_torch_tensors(drive, stub_torch):
    """The second call of a kernel goes through one generated function; a call that does not fit is explained as ever."""
    said, calls = drive(
        stub_torch
        + textwrap.dedent("""
        k = runner()
        k(Tensor(0x1000, 1000), Tensor(0x2000, 1000), 2.5)
        print(Tensor.described)
        k(Tensor(0x3000, 300), Tensor(0x4000, 300), 3)
        print(Tensor.described)
        refused(lambda: k(Tensor(0x3004, 300), Tensor(0x4000, 300), 3.0))
        refused(lambda: k(Tensor(0x3000, 300), Tensor(0x4000, 301), 3.0))
        k(Tensor(0, 0), Tensor(0, 0), 3.0)
        g = runner(grid=lambda dims: (1, 70000) if dims == (7,) else 1)
        g(Tensor(0x7000, 4), Tensor(0x8000, 4), 1.0)
        refused(lambda: g(Tensor(0x7000, 7), Tensor(0x8000, 7), 1.0))
        k.prepare(Tensor(0x5000, 5), Tensor(0x6000, 5), 5.0)()
        """)
    )
    assert said == [
        "2",
        "2",
        "ArgumentError: saxpy: argument 'x' is at an address that is 4 modulo 16; the signature wants 16-byte alignment. "
        "Fix: x.copy() moves it to a fresh allocation",
        "ArgumentError: saxpy: dimension 'n' is 300 by axis 0 of 'x' but 301 by axis 0 of 'y'; one name has one value",
        "LaunchError: saxpy: grid.y = 70000; a grid has 1 to 65535 blocks along y; put the large axis into x",
    ]
    assert [call for call in calls if call.startswith(("launch", "params"))] == [
        "launch 8 1 1 | 128 1 1 | 0 | 0x70 | 0",
        "params 1000 2000 2.5 1000",
        "launch 3 1 1 | 128 1 1 | 0 | 0x70 | 0",
        "params 3000 4000 3 300",
        "launch 1 1 1 | 128 1 1 | 0 | 0x70 | 0",
        "params 7000 8000 1 4",
        "launch 1 1 1 | 128 1 1 | 0 | 0x70 | 0",
        "params 5000 6000 5 5",
    ]
