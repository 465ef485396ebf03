//! What a stretch of a step's time is spent on, with XProf's numbers (`EventType`,
//! `GenericEventType`).

/// What an event stands for in a step. Where events overlap, the one with the larger number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum EventType {
    /// Nothing was traced.
    Unknown = 0,
    /// The host computes.
    HostCompute = 10,
    /// The host compiles.
    HostCompile = 60,
    /// From host to host.
    HostToHost = 70,
    /// From host to device.
    HostToDevice = 80,
    /// The host launches a computation on the device.
    HostPrepare = 90,
    /// Collectives.
    DeviceCollectives = 100,
    /// The host waits for input.
    HostWaitInput = 110,
    /// From device to device.
    DeviceToDevice = 120,
    /// From device to host.
    DeviceToHost = 130,
    /// The device computes with 32 bits.
    DeviceCompute32 = 140,
    /// The device computes with 16 bits.
    DeviceCompute16 = 150,
    /// The device waits for another device.
    DeviceWaitDevice = 160,
    /// The device waits for the host.
    DeviceWaitHost = 170,
}

impl EventType {
    /// All types, the one that counts least first.
    pub const ALL: [Self; 14] = [
        Self::Unknown,
        Self::HostCompute,
        Self::HostCompile,
        Self::HostToHost,
        Self::HostToDevice,
        Self::HostPrepare,
        Self::DeviceCollectives,
        Self::HostWaitInput,
        Self::DeviceToDevice,
        Self::DeviceToHost,
        Self::DeviceCompute32,
        Self::DeviceCompute16,
        Self::DeviceWaitDevice,
        Self::DeviceWaitHost,
    ];

    /// XProf's number.
    pub fn number(self) -> i32 {
        i32::from(self as u8)
    }

    /// Place in [`Self::ALL`].
    pub fn rank(self) -> usize {
        Self::ALL.iter().position(|&other| other == self).unwrap_or_default()
    }

    /// Whether the time counts as waiting for input.
    pub fn is_input(self) -> bool {
        matches!(self, Self::HostWaitInput | Self::HostToDevice)
    }
}

/// What tools show of a step: each part with its number, its name, and the types that it sums up.
pub const STEP_PARTS: [(i32, &str, &[EventType]); 9] = [
    (1, "Device compute", &[EventType::DeviceCompute32, EventType::DeviceCompute16]),
    (2, "Device to device", &[EventType::DeviceToDevice, EventType::DeviceWaitDevice]),
    (3, "Device collective communication", &[EventType::DeviceCollectives]),
    (4, "Host compute", &[EventType::HostCompute]),
    (5, "Kernel launch", &[EventType::HostPrepare]),
    (6, "Input", &[EventType::HostWaitInput, EventType::HostToDevice, EventType::DeviceWaitHost]),
    (7, "Output", &[EventType::DeviceToHost]),
    (8, "Compilation", &[EventType::HostCompile]),
    (9, "All others", &[EventType::Unknown]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_follow_the_numbers() {
        assert!(EventType::ALL.is_sorted());
        let ranks: Vec<usize> = EventType::ALL.iter().map(|event_type| event_type.rank()).collect();
        assert_eq!(ranks, (0..14).collect::<Vec<_>>());
        assert_eq!(EventType::DeviceWaitHost.number(), 170);
    }
}
