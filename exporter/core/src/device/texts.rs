//! What is printed on a board and in its firmware: texts that a counters file may ask for as labels. Read once for each
//! board; a text that the driver does not tell is absent.

/// Texts of one board.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Texts {
    /// Product line, as [`brand`] names it.
    pub brand: Option<String>,
    /// Number printed on the board.
    pub serial: Option<String>,
    /// Version of the board's firmware.
    pub vbios: Option<String>,
    /// Version of the whole configuration memory.
    pub inforom_image: Option<String>,
    /// Version of its part for the board's maker.
    pub inforom_oem: Option<String>,
    /// Version of its part for memory errors.
    pub inforom_ecc: Option<String>,
    /// Version of its part for power.
    pub inforom_power: Option<String>,
}

impl Texts {
    /// Each under DCGM's name of the field.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [
            ("DCGM_FI_DEV_BRAND", &self.brand),
            ("DCGM_FI_DEV_SERIAL", &self.serial),
            ("DCGM_FI_DEV_VBIOS_VERSION", &self.vbios),
            ("DCGM_FI_DEV_INFOROM_IMAGE_VER", &self.inforom_image),
            ("DCGM_FI_DEV_OEM_INFOROM_VER", &self.inforom_oem),
            ("DCGM_FI_DEV_ECC_INFOROM_VER", &self.inforom_ecc),
            ("DCGM_FI_DEV_POWER_INFOROM_VER", &self.inforom_power),
        ]
        .into_iter()
        .filter_map(|(name, text)| Some((name, text.as_deref()?)))
    }
}

/// A brand by its number in nvml.h, in DCGM's words (`DcgmCacheManager.cpp`, `DCGM_FI_DEV_GPU_BRAND`).
pub fn brand(code: u32) -> &'static str {
    match code {
        1 => "Quadro",
        2 => "Tesla",
        3 => "NVS",
        4 => "Grid",
        5 => "GeForce",
        6 => "Titan",
        7 => "NVIDIA Virtual Applications",
        8 => "NVIDIA Virtual PC",
        9 => "NVIDIA Virtual Compute Server",
        10 => "NVIDIA RTX Virtual Workstation",
        11 => "NVIDIA vGaming",
        12 => "Quadro RTX",
        13 => "NVIDIA RTX",
        14 => "NVIDIA",
        15 => "GeForce RTX",
        16 => "Titan RTX",
        _ => "Unknown",
    }
}
