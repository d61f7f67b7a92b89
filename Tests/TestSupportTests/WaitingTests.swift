import TestSupport
import Testing

/// Tests that the last check of a condition always starts after the deadline.
struct WaitingTests {
    /// A pause that exceeds the ``WaitingTime`` of these tests on any machine.
    private static let tooLong = Duration.milliseconds(200)

    @Test func `A wait notices a change even if its first check ends after the deadline`() async throws {
        var looks = 0
        try await eventually("the second look", within: .milliseconds(10)) {
            looks += 1
            if looks == 1 { blockThread(for: Self.tooLong, because: "The check must end after the deadline.") }
            return looks == 2
        }
        looks = 0
        try blockUntil("the second look", within: .milliseconds(10)) {
            looks += 1
            if looks == 1 { blockThread(for: Self.tooLong, because: "The check must end after the deadline.") }
            return looks == 2
        }
    }
}
