extension FixedWidthInteger {
    /// The whole part of `value`, or the nearest integer that there is; 0 for what is no number.
    ///
    /// What comes from outside (a rate, a clock, a length) may be infinite or too large, and must not end the process.
    /// Inlinable: planners convert in their innermost loops.
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
    /// The nearest number within `bounds`; `replacement` for what is no number.
    ///
    /// What an app sets goes through here before it is written as JSON, which has words for finite numbers alone.
    package func limited(to bounds: ClosedRange<Self>, or replacement: Self) -> Self {
        isNaN ? replacement : Swift.min(Swift.max(self, bounds.lowerBound), bounds.upperBound)
    }
}

extension Duration {
    /// `seconds` as a duration, at most some thousand years; 0 for what is no number.
    package init(saturatingSeconds seconds: Double) {
        // Beyond nine thousand trillion seconds the standard library's own conversion ends the process.
        let limit = 1e11
        self = .seconds(seconds.isNaN ? 0 : min(max(seconds, -limit), limit))
    }
}

// The standard library's conversions end the process where a number does not fit. These stand before them wherever this
// module is imported, so that the compiler refuses each use.

extension Int {
    @available(*, deprecated, message: "ends the process where the number does not fit: use Int(saturating:)")
    package init(_ value: Double) { self.init(saturating: value) }

    @available(*, deprecated, message: "ends the process where the number does not fit: use Int(saturating: Double(_))")
    package init(_ value: Float) { self.init(saturating: Double(value)) }
}

extension Int8 {
    @available(*, deprecated, message: "ends the process where the number does not fit: use Int8(saturating:)")
    package init(_ value: Double) { self.init(saturating: value) }

    @available(
        *, deprecated, message: "ends the process where the number does not fit: use Int8(saturating: Double(_))"
    )
    package init(_ value: Float) { self.init(saturating: Double(value)) }
}

extension Int16 {
    @available(*, deprecated, message: "ends the process where the number does not fit: use Int16(saturating:)")
    package init(_ value: Double) { self.init(saturating: value) }

    @available(
        *, deprecated, message: "ends the process where the number does not fit: use Int16(saturating: Double(_))"
    )
    package init(_ value: Float) { self.init(saturating: Double(value)) }
}

extension Int32 {
    @available(*, deprecated, message: "ends the process where the number does not fit: use Int32(saturating:)")
    package init(_ value: Double) { self.init(saturating: value) }

    @available(
        *, deprecated, message: "ends the process where the number does not fit: use Int32(saturating: Double(_))"
    )
    package init(_ value: Float) { self.init(saturating: Double(value)) }
}

extension Int64 {
    @available(*, deprecated, message: "ends the process where the number does not fit: use Int64(saturating:)")
    package init(_ value: Double) { self.init(saturating: value) }

    @available(
        *, deprecated, message: "ends the process where the number does not fit: use Int64(saturating: Double(_))"
    )
    package init(_ value: Float) { self.init(saturating: Double(value)) }
}

extension UInt {
    @available(*, deprecated, message: "ends the process where the number does not fit: use UInt(saturating:)")
    package init(_ value: Double) { self.init(saturating: value) }

    @available(
        *, deprecated, message: "ends the process where the number does not fit: use UInt(saturating: Double(_))"
    )
    package init(_ value: Float) { self.init(saturating: Double(value)) }
}

extension UInt8 {
    @available(*, deprecated, message: "ends the process where the number does not fit: use UInt8(saturating:)")
    package init(_ value: Double) { self.init(saturating: value) }

    @available(
        *, deprecated, message: "ends the process where the number does not fit: use UInt8(saturating: Double(_))"
    )
    package init(_ value: Float) { self.init(saturating: Double(value)) }
}

extension UInt16 {
    @available(*, deprecated, message: "ends the process where the number does not fit: use UInt16(saturating:)")
    package init(_ value: Double) { self.init(saturating: value) }

    @available(
        *, deprecated, message: "ends the process where the number does not fit: use UInt16(saturating: Double(_))"
    )
    package init(_ value: Float) { self.init(saturating: Double(value)) }
}

extension UInt32 {
    @available(*, deprecated, message: "ends the process where the number does not fit: use UInt32(saturating:)")
    package init(_ value: Double) { self.init(saturating: value) }

    @available(
        *, deprecated, message: "ends the process where the number does not fit: use UInt32(saturating: Double(_))"
    )
    package init(_ value: Float) { self.init(saturating: Double(value)) }
}

extension UInt64 {
    @available(*, deprecated, message: "ends the process where the number does not fit: use UInt64(saturating:)")
    package init(_ value: Double) { self.init(saturating: value) }

    @available(
        *, deprecated, message: "ends the process where the number does not fit: use UInt64(saturating: Double(_))"
    )
    package init(_ value: Float) { self.init(saturating: Double(value)) }
}
