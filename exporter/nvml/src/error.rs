//! What a call of the driver library can answer besides a value: "not supported here" or a named failure.
//! Never a zero, never a sentinel.

use nvml_wrapper::error::NvmlError;

/// A call's value, or why there is none.
pub type Answer<T> = Result<T, Error>;

/// Why a call gave no value.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The library is absent, cannot be loaded, or refuses to start.
    #[error("cannot start the driver library {library}")]
    Start {
        /// Name or path that was tried.
        library: String,
        /// What the loader or the library said.
        source: NvmlError,
    },
    /// The board, its mode or this driver does not offer the value: its series is absent, and that is no fault.
    #[error("{call} is not supported by this device or driver")]
    Unsupported {
        /// The C function.
        call: &'static str,
        /// What the library said.
        source: NvmlError,
    },
    /// The call was not made: the thread that would have made it was given up after an earlier one hung.
    #[error("{call} was not called: its thread was given up")]
    GivenUp {
        /// The C function.
        call: &'static str,
    },
    /// The call should work and did not.
    #[error("{call} failed with {}", name(source))]
    Failed {
        /// The C function.
        call: &'static str,
        /// What the library said.
        source: NvmlError,
    },
}

impl Error {
    /// Whether the value does not exist here, as opposed to a fault.
    pub fn is_unsupported(&self) -> bool {
        matches!(self, Self::Unsupported { .. })
    }

    /// Whether its thread was given up: nothing that it finds out is waited for.
    pub fn is_given_up(&self) -> bool {
        matches!(self, Self::GivenUp { .. })
    }

    /// Whether the caller lacks the right to ask: a lasting state, until it is given the right.
    pub fn is_refused(&self) -> bool {
        matches!(
            self,
            Self::Failed {
                source: NvmlError::NoPermission,
                ..
            }
        )
    }

    /// Whether the device itself is gone: no other call on it will do better.
    pub fn is_lost(&self) -> bool {
        matches!(
            self,
            Self::Failed {
                source: NvmlError::GpuLost | NvmlError::ResetRequired,
                ..
            }
        )
    }

    /// Whether the library no longer knows the process or the driver changed below it: only opening it again helps.
    pub fn needs_reopening(&self) -> bool {
        matches!(
            self,
            Self::Failed {
                source: NvmlError::Uninitialized
                    | NvmlError::DriverNotLoaded
                    | NvmlError::LibRmVersionMismatch,
                ..
            }
        )
    }

    /// The return code's name in `nvml.h` without its prefix, such as `GPU_IS_LOST`; a code that this build does not
    /// know is `UNKNOWN_CODE`, so that a label's values stay few.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Start { source, .. }
            | Self::Unsupported { source, .. }
            | Self::Failed { source, .. } => name(source),
            Self::GivenUp { .. } => "GIVEN_UP",
        }
    }
}

/// Sorts a call's outcome. A function that the driver lacks is "not supported": older drivers have fewer functions and
/// older structure versions.
pub(crate) fn answer<T>(call: &'static str, outcome: Result<T, NvmlError>) -> Answer<T> {
    outcome.map_err(|source| match source {
        NvmlError::NotSupported
        | NvmlError::FailedToLoadSymbol(_)
        | NvmlError::FunctionNotFound
        // ARGUMENT_VERSION_MISMATCH and DEPRECATED, which the wrapper does not name.
        | NvmlError::UnexpectedVariant(25 | 26) => Error::Unsupported { call, source },
        source => Error::Failed { call, source },
    })
}

fn name(error: &NvmlError) -> &'static str {
    match error {
        NvmlError::Uninitialized => "UNINITIALIZED",
        NvmlError::InvalidArg => "INVALID_ARGUMENT",
        NvmlError::NotSupported => "NOT_SUPPORTED",
        NvmlError::NoPermission => "NO_PERMISSION",
        NvmlError::NotFound => "NOT_FOUND",
        NvmlError::InsufficientSize(_) => "INSUFFICIENT_SIZE",
        NvmlError::InsufficientPower => "INSUFFICIENT_POWER",
        NvmlError::DriverNotLoaded => "DRIVER_NOT_LOADED",
        NvmlError::Timeout => "TIMEOUT",
        NvmlError::IrqIssue => "IRQ_ISSUE",
        NvmlError::LibraryNotFound | NvmlError::LibloadingError(_) => "LIBRARY_NOT_FOUND",
        NvmlError::FunctionNotFound | NvmlError::FailedToLoadSymbol(_) => "FUNCTION_NOT_FOUND",
        NvmlError::CorruptedInfoROM => "CORRUPTED_INFOROM",
        NvmlError::GpuLost => "GPU_IS_LOST",
        NvmlError::ResetRequired => "RESET_REQUIRED",
        NvmlError::OperatingSystem => "OPERATING_SYSTEM",
        NvmlError::LibRmVersionMismatch => "LIB_RM_VERSION_MISMATCH",
        NvmlError::InUse => "IN_USE",
        NvmlError::InsufficientMemory => "MEMORY",
        NvmlError::NoData => "NO_DATA",
        NvmlError::VgpuEccNotSupported => "VGPU_ECC_NOT_SUPPORTED",
        NvmlError::UnexpectedVariant(23) => "INSUFFICIENT_RESOURCES",
        NvmlError::UnexpectedVariant(24) => "FREQ_NOT_SUPPORTED",
        NvmlError::UnexpectedVariant(25) => "ARGUMENT_VERSION_MISMATCH",
        NvmlError::UnexpectedVariant(26) => "DEPRECATED",
        NvmlError::UnexpectedVariant(27) => "NOT_READY",
        NvmlError::UnexpectedVariant(28) => "GPU_NOT_FOUND",
        NvmlError::UnexpectedVariant(29) => "INVALID_STATE",
        NvmlError::UnexpectedVariant(_) => "UNKNOWN_CODE",
        _ => "UNKNOWN",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_function_is_unsupported_and_a_lost_board_is_not() {
        let missing = answer::<()>("f", Err(NvmlError::FailedToLoadSymbol("f".into())));
        assert!(missing.unwrap_err().is_unsupported());
        let lost = answer::<()>("f", Err(15_u32.into())).unwrap_err();
        assert!(lost.is_lost() && !lost.is_unsupported());
        assert_eq!(lost.code(), "GPU_IS_LOST");
        assert_eq!(lost.to_string(), "f failed with GPU_IS_LOST");
    }

    #[test]
    fn a_code_of_a_newer_driver_keeps_the_label_short() {
        let odd = answer::<()>("f", Err(4711_u32.into())).unwrap_err();
        assert_eq!(odd.code(), "UNKNOWN_CODE");
        assert!(!odd.is_unsupported());
    }
}
