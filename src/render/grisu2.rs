//! A double's digits by Grisu2 (Florian Loitsch, "Printing Floating-Point Numbers Quickly and
//! Accurately with Integers", 2010): few digits that read back as the same number.
//!
//! They are the fewest, and the nearest of those, for all but about one number in a thousand; so
//! the algorithm itself, with the table and the range of exponents that nlohmann's JSON library
//! uses, is part of the format.

/// A number `significand * 2^exponent`.
#[derive(Debug, Clone, Copy)]
struct Binary {
    significand: u64,
    exponent: i32,
}

impl Binary {
    /// Shifted so that the highest bit is set.
    fn normalized(self) -> Self {
        let shift = self.significand.leading_zeros();
        Self { significand: self.significand << shift, exponent: self.exponent - shift as i32 }
    }

    /// The upper 64 bits of the product, rounded half up.
    fn times(self, other: Self) -> Self {
        let product = u128::from(self.significand) * u128::from(other.significand);
        Self {
            significand: ((product + (1 << 63)) >> 64) as u64,
            exponent: self.exponent + other.exponent + 64,
        }
    }
}

/// Decimal exponents of the table of powers.
const FIRST_POWER: i32 = -300;
const POWER_STEP: i32 = 8;
/// The binary exponent of a scaled number is at least this.
const MIN_SCALED_EXPONENT: i32 = -60;

/// The significands of 10^-300, 10^-292, …, 10^324, normalized and rounded to the nearest.
#[rustfmt::skip]
const POWERS: [u64; 79] = [
    0xab70_fe17_c79a_c6ca, 0xff77_b1fc_bebc_dc4f, 0xbe56_91ef_416b_d60c, 0x8dd0_1fad_907f_fc3c,
    0xd351_5c28_3155_9a83, 0x9d71_ac8f_ada6_c9b5, 0xea9c_2277_23ee_8bcb, 0xaecc_4991_4078_536d,
    0x823c_1279_5db6_ce57, 0xc210_9436_4dfb_5637, 0x9096_ea6f_3848_984f, 0xd774_85cb_2582_3ac7,
    0xa086_cfcd_97bf_97f4, 0xef34_0a98_172a_ace5, 0xb238_67fb_2a35_b28e, 0x84c8_d4df_d2c6_3f3b,
    0xc5dd_4427_1ad3_cdba, 0x936b_9fce_bb25_c996, 0xdbac_6c24_7d62_a584, 0xa3ab_6658_0d5f_daf6,
    0xf3e2_f893_dec3_f126, 0xb5b5_ada8_aaff_80b8, 0x8762_5f05_6c7c_4a8b, 0xc9bc_ff60_34c1_3053,
    0x964e_858c_91ba_2655, 0xdff9_7724_7029_7ebd, 0xa6df_bd9f_b8e5_b88f, 0xf8a9_5fcf_8874_7d94,
    0xb944_7093_8fa8_9bcf, 0x8a08_f0f8_bf0f_156b, 0xcdb0_2555_6531_31b6, 0x993f_e2c6_d07b_7fac,
    0xe45c_10c4_2a2b_3b06, 0xaa24_2499_6973_92d3, 0xfd87_b5f2_8300_ca0e, 0xbce5_0864_9211_1aeb,
    0x8cbc_cc09_6f50_88cc, 0xd1b7_1758_e219_652c, 0x9c40_0000_0000_0000, 0xe8d4_a510_0000_0000,
    0xad78_ebc5_ac62_0000, 0x813f_3978_f894_0984, 0xc097_ce7b_c907_15b3, 0x8f7e_32ce_7bea_5c70,
    0xd5d2_38a4_abe9_8068, 0x9f4f_2726_179a_2245, 0xed63_a231_d4c4_fb27, 0xb0de_6538_8cc8_ada8,
    0x83c7_088e_1aab_65db, 0xc45d_1df9_4271_1d9a, 0x924d_692c_a61b_e758, 0xda01_ee64_1a70_8dea,
    0xa26d_a399_9aef_774a, 0xf209_787b_b47d_6b85, 0xb454_e4a1_79dd_1877, 0x865b_8692_5b9b_c5c2,
    0xc835_53c5_c896_5d3d, 0x952a_b45c_fa97_a0b3, 0xde46_9fbd_99a0_5fe3, 0xa59b_c234_db39_8c25,
    0xf6c6_9a72_a398_9f5c, 0xb7dc_bf53_54e9_bece, 0x88fc_f317_f222_41e2, 0xcc20_ce9b_d35c_78a5,
    0x9816_5af3_7b21_53df, 0xe2a0_b5dc_971f_303a, 0xa8d9_d153_5ce3_b396, 0xfb9b_7cd9_a4a7_443c,
    0xbb76_4c4c_a7a4_4410, 0x8bab_8eef_b640_9c1a, 0xd01f_ef10_a657_842c, 0x9b10_a4e5_e991_3129,
    0xe710_9bfb_a19c_0c9d, 0xac28_20d9_623b_f429, 0x8044_4b5e_7aa7_cf85, 0xbf21_e440_03ac_dd2d,
    0x8e67_9c2f_5e44_ff8f, 0xd433_179d_9c8c_b841, 0x9e19_db92_b4e3_1ba9,
];

/// The digits of a positive finite number, and the power of ten of the last one.
pub(super) fn digits(value: f64) -> (Buffer, i32) {
    let (low, exact, high) = boundaries(value);
    let (power, power_exponent) = power_for(high.exponent);
    let exact = exact.times(power);
    let low = low.times(power).significand + 1;
    let high = high.times(power);
    generate(low, exact.significand, high.significand - 1, high.exponent, -power_exponent)
}

/// The number and the middles to its two neighbours, all with the exponent of the upper one.
fn boundaries(value: f64) -> (Binary, Binary, Binary) {
    const HIDDEN: u64 = 1 << 52;
    let bits = value.to_bits();
    let fraction = bits & (HIDDEN - 1);
    let biased = (bits >> 52) as i32;
    let exact = if biased == 0 {
        Binary { significand: fraction, exponent: 1 - 1075 }
    } else {
        Binary { significand: fraction | HIDDEN, exponent: biased - 1075 }
    };
    let high = Binary { significand: 2 * exact.significand + 1, exponent: exact.exponent - 1 }
        .normalized();
    // Below a power of two the neighbours are twice as close.
    let low = if fraction == 0 && biased > 1 {
        Binary { significand: 4 * exact.significand - 1, exponent: exact.exponent - 2 }
    } else {
        Binary { significand: 2 * exact.significand - 1, exponent: exact.exponent - 1 }
    };
    let low = Binary {
        significand: low.significand << (low.exponent - high.exponent),
        exponent: high.exponent,
    };
    (low, exact.normalized(), high)
}

/// The power of ten that brings a number with this binary exponent into range, and its decimal
/// exponent.
fn power_for(exponent: i32) -> (Binary, i32) {
    let wanted = MIN_SCALED_EXPONENT - exponent - 1;
    // wanted * log10(2), rounded up where positive
    let decimal = wanted * 78_913 / (1 << 18) + i32::from(wanted > 0);
    let index = (decimal - FIRST_POWER + POWER_STEP - 1) / POWER_STEP;
    let decimal = FIRST_POWER + index * POWER_STEP;
    // floor(decimal * log2(10)) - 63
    let exponent = ((decimal * 1_741_647) >> 19) - 63;
    (Binary { significand: POWERS[index as usize], exponent }, decimal)
}

/// At most 17 digits as characters.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Buffer {
    digits: [u8; 20],
    count: usize,
}

impl Buffer {
    fn push(&mut self, digit: u64) {
        self.digits[self.count] = b'0' + digit as u8;
        self.count += 1;
    }

    /// The digits as text.
    pub(super) fn digits(&self) -> &[u8] {
        &self.digits[..self.count]
    }
}

/// Digits of `high` until what is left is not larger than `high - low`, then nearer to `exact`.
fn generate(low: u64, exact: u64, high: u64, exponent: i32, mut last: i32) -> (Buffer, i32) {
    let mut interval = high - low;
    let mut distance = high - exact;
    let one_bits = (-exponent) as u32;
    let one = 1_u64 << one_bits;
    let mut whole = high >> one_bits;
    let mut fraction = high & (one - 1);
    let mut buffer = Buffer::default();

    let mut left = whole.checked_ilog10().map_or(1, |log| log + 1);
    while left > 0 {
        left -= 1;
        let power = 10_u64.pow(left);
        buffer.push(whole / power);
        whole %= power;
        let rest = (whole << one_bits) + fraction;
        if rest <= interval {
            last += left as i32;
            approach(&mut buffer, distance, interval, rest, power << one_bits);
            return (buffer, last);
        }
    }
    loop {
        fraction *= 10;
        buffer.push(fraction >> one_bits);
        fraction &= one - 1;
        last -= 1;
        interval *= 10;
        distance *= 10;
        if fraction <= interval {
            approach(&mut buffer, distance, interval, fraction, one);
            return (buffer, last);
        }
    }
}

/// Lowers the last digit while that brings the number nearer to the exact one.
fn approach(buffer: &mut Buffer, distance: u64, interval: u64, mut rest: u64, unit: u64) {
    while rest < distance
        && interval - rest >= unit
        && (rest + unit < distance || distance - rest > rest + unit - distance)
    {
        buffer.digits[buffer.count - 1] -= 1;
        rest += unit;
    }
}
