//! A driver library for tests: the `nvml*` functions that the exporter calls, answering for boards that a text file
//! describes. The file's path is in `FORESAIL_TEST_NVML`; it is read again at every call, so a test changes the
//! hardware by replacing the file. What it never does: touch a device, or be linked into a product.
//!
//! One statement a line, `#` starts a comment:
//!
//! ```text
//! driver 590.48.01
//! gpu 0 board H100                                   see `board::MODELS` for the boards
//! gpu 0 uuid GPU-1                                   another board in the same place
//! gpu 0 set temperature 55                           a reading, see `board::readings` for their names
//! gpu 0 unset memory_temperature                     from now on "not supported"
//! gpu 0 workload transfer seed 7                     readings of a workload whose limit is known, see `workload`
//! gpu 0 mig on
//! gpu 0 instance 3g.40gb id 2 start 4 used 26        used in MiB; refused where the driver would refuse it
//! gpu 0 instance 3g.40gb id 1 start 0 used 26 bare   without a compute instance
//! gpu 0 compute 0 in 1 slices 1 multiprocessors 18   a compute instance in a bare one
//! gpu 0 process 4711 compute used 500 busy 40 20     also graphics and mps; `used na`, `in 2`, and without `busy`
//! gpu 0 xid 79                                       reported once to sets that were registered before
//! gpu 0 fault nvmlDeviceGetPowerUsage return 15      also `hang` (until the line goes) and `delay 50` (milliseconds)
//! gpu 1 fault * return 15                            every call on the board
//! gpu 0 fault field:82 return 3                      one value of nvmlDeviceGetFieldValues
//! fault nvmlInit_v2 return 9
//! ```
//!
//! A file beside it, `.state`, tells what is open: see `state`.
#![expect(
    unsafe_code,
    reason = "it exports C functions that write through the caller's pointers"
)]

mod board;
mod call;
mod events;
mod fields;
mod gpm;
mod mig;
mod peers;
mod process;
mod readings;
mod state;
mod system;
mod workload;
mod world;
