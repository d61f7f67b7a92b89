import TestSupport
import Testing

/// A look is never older than the deadline that is held against it.
struct WaitingTests {
    /// Longer than ``WaitingTime`` is for the bounds of these tests, whatever else the machine does.
    private static let tooLong = Duration.milliseconds(200)

    @Test func `What comes while the first look takes too long is seen`() async throws {
        var looks = 0
        try await eventually("the second look", within: .milliseconds(10)) {
            looks += 1
            if looks == 1 { blockThread(for: Self.tooLong, because: "The look is to end behind the deadline.") }
            return looks == 2
        }
        looks = 0
        try blockUntil("the second look", within: .milliseconds(10)) {
            looks += 1
            if looks == 1 { blockThread(for: Self.tooLong, because: "The look is to end behind the deadline.") }
            return looks == 2
        }
    }
}
