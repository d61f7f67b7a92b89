import NightshiftAPI
import Testing

/// Tests that numbers from outside are converted to integers without a trap.
@Suite struct SaturatingConversionsTests {
    @Test(
        arguments: [
            (0, 0), (1.9, 1), (-1.9, -1), (1e300, .max), (-1e300, .min), (.infinity, .max), (-.infinity, .min),
            (.nan, 0), (9_223_372_036_854_775_808, .max),
        ] as [(Double, Int64)])
    func `A number that does not fit becomes the nearest number that fits the type`(value: Double, whole: Int64) {
        #expect(Int64(saturating: value) == whole)
    }

    @Test func `Smaller and unsigned integers saturate at their own limits`() {
        #expect(Int32(saturating: 3e9) == .max && Int32(saturating: -3e9) == .min)
        #expect(UInt64(saturating: -1) == 0 && UInt64(saturating: .infinity) == .max)
        #expect(Int8(saturating: -1e9) == .min && UInt16(saturating: 1e9) == .max && Int16(saturating: 7.5) == 7)
        #expect(UInt8(saturating: 255.9) == 255 && UInt8(saturating: 256) == .max)
    }

    @Test func `Extreme durations saturate at a limit`() {
        #expect(Duration(saturatingSeconds: 1.5) == .milliseconds(1_500))
        #expect(Duration(saturatingSeconds: .nan) == .zero)
        #expect(Duration(saturatingSeconds: .infinity) == Duration(saturatingSeconds: 1e300))
        #expect(Duration(saturatingSeconds: -.infinity) == .seconds(-1e11))
    }

    @Test func `A value outside the bounds becomes the nearest bound, and NaN becomes the default`() {
        #expect(Float(0.25).limited(to: 0...1, or: 0.5) == 0.25)
        #expect(Float.nan.limited(to: 0...1, or: 0.5) == 0.5)
        #expect(
            Double.infinity.limited(to: 0...100, or: 0) == 100 && (-Double.infinity).limited(to: 0...100, or: 1) == 0)
    }
}
