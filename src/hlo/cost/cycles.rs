//! Operations of one element, where a GPU needs more than a few (XLA's profile of `sm_86`).

use crate::hlo::opcode::Opcode as O;
use crate::hlo::shape::PrimitiveType;

/// What an element costs if it is not in the table.
const USUAL: i64 = 3;

const S8: u8 = 2;
const S16: u8 = 3;
const S32: u8 = 4;
const S64: u8 = 5;
const U8: u8 = 6;
const U16: u8 = 7;
const U32: u8 = 8;
const U64: u8 = 9;
const F16: u8 = 10;
const F32: u8 = 11;
const F64: u8 = 12;
const C64: u8 = 15;
const C128: u8 = 18;

/// Clock cycles by operation and type, as measured by XLA's profiler on an `sm_86` device.
const TABLE: &[(O, &[(u8, i64)])] = &[
    (
        O::Divide,
        &[
            (S8, 370),
            (S16, 367),
            (S32, 306),
            (S64, 918),
            (U8, 306),
            (U16, 302),
            (U32, 115),
            (U64, 838),
            (F64, 2016),
            (C64, 687),
            (C128, 7941),
        ],
    ),
    (
        O::Power,
        &[
            (S8, 392),
            (S16, 396),
            (S64, 601),
            (U8, 388),
            (U16, 399),
            (U64, 604),
            (F16, 975),
            (F32, 925),
            (F64, 5511),
            (C64, 3351),
            (C128, 18205),
        ],
    ),
    (O::Cbrt, &[(F16, 925), (F32, 867), (F64, 6339)]),
    (O::Cosine, &[(F16, 691), (F32, 662), (F64, 1717), (C128, 6613)]),
    (O::Exponential, &[(F16, 108), (F32, 86), (F64, 1652), (C64, 1360), (C128, 4028)]),
    (O::ExponentialMinusOne, &[(F16, 396), (F32, 381), (F64, 1900), (C64, 1400), (C128, 4161)]),
    (O::Log, &[(F16, 266), (F32, 244), (F64, 608), (C64, 950), (C128, 7599)]),
    (O::LogPlusOne, &[(F16, 284), (F32, 262), (F64, 2073), (C64, 842), (C128, 6962)]),
    (O::Logistic, &[(F16, 226), (F32, 176), (F64, 2412)]),
    (O::Rsqrt, &[(F16, 97), (F32, 75), (F64, 698), (C64, 2383), (C128, 11318)]),
    (O::Sqrt, &[(F16, 97), (F32, 75), (F64, 986), (C64, 3193), (C128, 15606)]),
    (O::Tanh, &[(F16, 212), (F32, 190), (F64, 1609), (C128, 9939)]),
    (O::Atan2, &[(F16, 482), (F32, 486), (F64, 3747), (C64, 5353), (C128, 39027)]),
    (O::Sine, &[(F32, 662), (F64, 1789), (C128, 5878)]),
    (O::Add, &[(F64, 97), (C128, 97)]),
    (O::Multiply, &[(F64, 97), (C128, 270)]),
    (O::Subtract, &[(F64, 97), (C128, 97)]),
];

/// Operations for each element of the result.
pub fn of_element(opcode: O, element_type: PrimitiveType) -> i64 {
    let of_opcode = TABLE.iter().find(|row| row.0 == opcode);
    let of_type = of_opcode.and_then(|row| row.1.iter().find(|entry| entry.0 == element_type.0));
    of_type.map_or(USUAL, |entry| entry.1)
}
