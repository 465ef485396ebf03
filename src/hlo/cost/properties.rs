//! What is known of an instruction's cost (`HloCostAnalysis::Properties`).

/// A value of an operand or of the output, by path into its shape.
type ByPath = (u32, Box<[i64]>, f32);

/// Costs of an instruction, or sums over instructions. All values are 0 unless set.
#[derive(Debug, Clone, Default)]
pub struct Properties {
    /// Operations.
    pub flops: f32,
    /// Bytes read and written.
    pub bytes_accessed: f32,
    /// Operations that the device does not need, thanks to small types.
    pub device_flops_adjustment: f32,
    output_bytes: f32,
    operand_bytes: Vec<f32>,
    operand_utilization: Vec<f32>,
    /// Parts of outputs and operands: the operand's place, or [`OUTPUT`].
    parts: Vec<ByPath>,
}

/// Stands for the output among the places of operands.
const OUTPUT: u32 = u32::MAX;

fn slot(values: &mut Vec<f32>, place: usize) -> &mut f32 {
    if values.len() <= place {
        values.resize(place + 1, 0.0);
    }
    &mut values[place]
}

impl Properties {
    /// Bytes written to a part of the output; all of it for an empty path.
    pub fn output_bytes(&self, path: &[i64]) -> f32 {
        if path.is_empty() { self.output_bytes } else { self.part(OUTPUT, path) }
    }

    /// Sets the bytes written to a part of the output.
    pub fn set_output_bytes(&mut self, path: &[i64], bytes: f32) {
        if path.is_empty() {
            self.output_bytes = bytes;
        } else {
            self.set_part(OUTPUT, path, bytes);
        }
    }

    /// Bytes read from a part of an operand; all of it for an empty path.
    pub fn operand_bytes(&self, operand: usize, path: &[i64]) -> f32 {
        if path.is_empty() {
            self.operand_bytes.get(operand).copied().unwrap_or(0.0)
        } else {
            self.part(operand as u32, path)
        }
    }

    /// Sets the bytes read from a part of an operand.
    pub fn set_operand_bytes(&mut self, operand: usize, path: &[i64], bytes: f32) {
        if path.is_empty() {
            *slot(&mut self.operand_bytes, operand) = bytes;
        } else {
            self.set_part(operand as u32, path, bytes);
        }
    }

    /// How often an operand's elements are used, on average.
    pub fn operand_utilization(&self, operand: usize) -> f32 {
        self.operand_utilization.get(operand).copied().unwrap_or(0.0)
    }

    /// Sets how often an operand's elements are used.
    pub fn set_operand_utilization(&mut self, operand: usize, utilization: f32) {
        *slot(&mut self.operand_utilization, operand) = utilization;
    }

    fn part(&self, place: u32, path: &[i64]) -> f32 {
        let found = self.parts.iter().find(|part| part.0 == place && *part.1 == *path);
        found.map_or(0.0, |part| part.2)
    }

    fn set_part(&mut self, place: u32, path: &[i64], value: f32) {
        match self.parts.iter_mut().find(|part| part.0 == place && *part.1 == *path) {
            Some(part) => part.2 = value,
            None => self.parts.push((place, path.into(), value)),
        }
    }

    /// Adds all values of another.
    pub fn add(&mut self, other: &Self) {
        self.merge(other, |own, other| own + other);
    }

    /// Takes the larger of each value, where the other has one.
    pub fn max(&mut self, other: &Self) {
        self.merge(other, f32::max);
    }

    fn merge(&mut self, other: &Self, join: impl Fn(f32, f32) -> f32) {
        let join = |own: &mut f32, other: f32| {
            if other != 0.0 {
                *own = join(*own, other);
            }
        };
        join(&mut self.flops, other.flops);
        join(&mut self.bytes_accessed, other.bytes_accessed);
        join(&mut self.device_flops_adjustment, other.device_flops_adjustment);
        join(&mut self.output_bytes, other.output_bytes);
        for (place, &bytes) in other.operand_bytes.iter().enumerate() {
            join(slot(&mut self.operand_bytes, place), bytes);
        }
        for (place, &utilization) in other.operand_utilization.iter().enumerate() {
            join(slot(&mut self.operand_utilization, place), utilization);
        }
        for (place, path, value) in &other.parts {
            let mut own = self.part(*place, path);
            join(&mut own, *value);
            self.set_part(*place, path, own);
        }
    }

    /// Forgets what only the instruction itself is asked for, in computations that are kept.
    pub fn shrink(&mut self) {
        self.parts = Vec::new();
        self.operand_bytes = Vec::new();
    }
}
