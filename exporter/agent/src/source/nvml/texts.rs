//! What is printed on a board and in its firmware. Read once for each board: it does not change while a board answers.

use exporter_core::device::texts::{Texts, brand};
use exporter_nvml::{Answer, Device, InfoRom};

use super::reading;

/// All texts; one that the driver does not tell is absent. Fails only when the board itself is gone.
pub(super) fn read(device: &Device<'_>) -> Answer<Texts> {
    let part = |part| text(device.inforom_version(part));
    Ok(Texts {
        brand: reading(device.brand())?
            .value()
            .map(|code| brand(*code).to_owned()),
        serial: text(device.serial())?,
        vbios: text(device.vbios_version())?,
        inforom_image: text(device.inforom_image_version())?,
        inforom_oem: part(InfoRom::OEM)?,
        inforom_ecc: part(InfoRom::ECC)?,
        inforom_power: part(InfoRom::Power)?,
    })
}

fn text(answer: Answer<String>) -> Answer<Option<String>> {
    let text = reading(answer)?.value().cloned();
    Ok(text.filter(|text| !text.trim().is_empty()))
}
