extension FixedWidthInteger {
    /// Creates the integer part of `value`, or the nearest representable integer; 0 for NaN.
    ///
    /// External values (a rate, a clock, a length) may be infinite or too large, and must not crash the process. The
    /// initializer is inlinable because planners convert values in their innermost loops.
    @inlinable
    package init(saturating value: Double) {
        guard !value.isNaN else {
            self = 0
            return
        }
        self = Self(exactly: value.rounded(.towardZero)) ?? (value < 0 ? .min : .max)
    }
}

extension BinaryFloatingPoint {
    /// Returns the nearest number within `bounds`, or `replacement` for NaN.
    ///
    /// Values from an app pass through this function before they are written as JSON, which represents only finite
    /// numbers.
    package func limited(to bounds: ClosedRange<Self>, or replacement: Self) -> Self {
        isNaN ? replacement : Swift.min(Swift.max(self, bounds.lowerBound), bounds.upperBound)
    }
}

extension Duration {
    /// Creates a duration of `seconds`, limited to a few thousand years; 0 for NaN.
    package init(saturatingSeconds seconds: Double) {
        // Beyond nine thousand trillion seconds, the conversion of the standard library traps.
        let limit = 1e11
        self = .seconds(seconds.isNaN ? 0 : min(max(seconds, -limit), limit))
    }
}

// The conversions of the standard library trap if a number does not fit. Wherever this module is imported, the compiler
// prefers the deprecated overloads below and therefore rejects each use.

extension Int {
    @available(*, deprecated, message: "this traps if the number does not fit; use Int(saturating:)")
    package init(_ value: Double) { self.init(saturating: value) }

    @available(*, deprecated, message: "this traps if the number does not fit; use Int(saturating: Double(_))")
    package init(_ value: Float) { self.init(saturating: Double(value)) }
}

extension Int8 {
    @available(*, deprecated, message: "this traps if the number does not fit; use Int8(saturating:)")
    package init(_ value: Double) { self.init(saturating: value) }

    @available(
        *, deprecated, message: "this traps if the number does not fit; use Int8(saturating: Double(_))"
    )
    package init(_ value: Float) { self.init(saturating: Double(value)) }
}

extension Int16 {
    @available(*, deprecated, message: "this traps if the number does not fit; use Int16(saturating:)")
    package init(_ value: Double) { self.init(saturating: value) }

    @available(
        *, deprecated, message: "this traps if the number does not fit; use Int16(saturating: Double(_))"
    )
    package init(_ value: Float) { self.init(saturating: Double(value)) }
}

extension Int32 {
    @available(*, deprecated, message: "this traps if the number does not fit; use Int32(saturating:)")
    package init(_ value: Double) { self.init(saturating: value) }

    @available(
        *, deprecated, message: "this traps if the number does not fit; use Int32(saturating: Double(_))"
    )
    package init(_ value: Float) { self.init(saturating: Double(value)) }
}

extension Int64 {
    @available(*, deprecated, message: "this traps if the number does not fit; use Int64(saturating:)")
    package init(_ value: Double) { self.init(saturating: value) }

    @available(
        *, deprecated, message: "this traps if the number does not fit; use Int64(saturating: Double(_))"
    )
    package init(_ value: Float) { self.init(saturating: Double(value)) }
}

extension UInt {
    @available(*, deprecated, message: "this traps if the number does not fit; use UInt(saturating:)")
    package init(_ value: Double) { self.init(saturating: value) }

    @available(
        *, deprecated, message: "this traps if the number does not fit; use UInt(saturating: Double(_))"
    )
    package init(_ value: Float) { self.init(saturating: Double(value)) }
}

extension UInt8 {
    @available(*, deprecated, message: "this traps if the number does not fit; use UInt8(saturating:)")
    package init(_ value: Double) { self.init(saturating: value) }

    @available(
        *, deprecated, message: "this traps if the number does not fit; use UInt8(saturating: Double(_))"
    )
    package init(_ value: Float) { self.init(saturating: Double(value)) }
}

extension UInt16 {
    @available(*, deprecated, message: "this traps if the number does not fit; use UInt16(saturating:)")
    package init(_ value: Double) { self.init(saturating: value) }

    @available(
        *, deprecated, message: "this traps if the number does not fit; use UInt16(saturating: Double(_))"
    )
    package init(_ value: Float) { self.init(saturating: Double(value)) }
}

extension UInt32 {
    @available(*, deprecated, message: "this traps if the number does not fit; use UInt32(saturating:)")
    package init(_ value: Double) { self.init(saturating: value) }

    @available(
        *, deprecated, message: "this traps if the number does not fit; use UInt32(saturating: Double(_))"
    )
    package init(_ value: Float) { self.init(saturating: Double(value)) }
}

extension UInt64 {
    @available(*, deprecated, message: "this traps if the number does not fit; use UInt64(saturating:)")
    package init(_ value: Double) { self.init(saturating: value) }

    @available(
        *, deprecated, message: "this traps if the number does not fit; use UInt64(saturating: Double(_))"
    )
    package init(_ value: Float) { self.init(saturating: Double(value)) }
}
