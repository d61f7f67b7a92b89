import NightshiftAPI
import Testing

@testable import Nightshift

/// Tests of the state machine of the channel, input by input (row T8).
@Suite struct ChannelMachineTests {
    private func hello(_ channel: String) -> ProcessHello {
        var hello = ProcessHello(app: AppID(rawValue: "/app"), isInstalled: false, isManaged: false, state: .active)
        hello.channel = channel
        return hello
    }

    /// Compares values, because `#expect` does not accept expressions that mutate a value.
    private func check<Value: Equatable>(
        _ value: Value, _ expected: Value, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(value == expected, sourceLocation: sourceLocation)
    }

    /// Returns a machine whose first attempt has opened this channel.
    private func open(_ channel: String) -> ChannelMachine {
        var machine = ChannelMachine()
        _ = machine.requestAccess(failsFast: false)
        check(machine.connected(1), true)
        machine.greeted(hello(channel))
        _ = machine.opened()
        return machine
    }

    @Test func `T8: The first caller starts an attempt, and all callers continue when the channel is open`() {
        var machine = ChannelMachine()
        let (first, actions) = machine.requestAccess(failsFast: false)
        check(first, .waiting(1))
        check(actions, [.connect(attempt: 1, after: .zero)])
        check(machine.requestAccess(failsFast: true).actions, [])
        check(machine.connected(1), true)
        machine.greeted(hello("a"))
        check(machine.requestAccess(failsFast: true).access, .waiting(3))
        machine.stopWaiting(1)
        check(machine.opened(), [.resume([2, 3]), .reportReconnect])
        check(machine.requestAccess(failsFast: true).access, .open(hello("a")))
    }

    @Test func `T8: A failed attempt is reported once, and only callers that fail fast stop waiting`() {
        var machine = ChannelMachine()
        _ = machine.requestAccess(failsFast: false)
        _ = machine.requestAccess(failsFast: true)
        check(
            machine.ended(1, trouble: "It is away."),
            [.connect(attempt: 2, after: .zero), .report(trouble: "It is away."), .resume([2])])
        check(machine.requestAccess(failsFast: true).access, .unreachable)
        check(machine.requestAccess(failsFast: false).access, .waiting(3))
        check(machine.ended(1, trouble: "It is away."), [])
        let pauses: [Duration] = [50, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000].map { .milliseconds($0) }
        for (attempt, pause) in pauses.enumerated() {
            check(
                machine.ended(attempt + 2, trouble: "It is away."), [.connect(attempt: attempt + 3, after: pause)])
        }
    }

    @Test func `T8: After the end of an open channel, callers wait for the next attempt`() {
        var machine = open("a")
        check(machine.ended(1, trouble: "It ended."), [.connect(attempt: 2, after: .zero)])
        check(machine.isUnreachable, false)
        check(machine.requestAccess(failsFast: true).access, .waiting(2))
        check(machine.connected(1), false)
        check(machine.connected(2), true)
        check(
            machine.ended(2, trouble: "It is away."),
            [.connect(attempt: 3, after: .milliseconds(50)), .report(trouble: "It is away."), .resume([2])])
    }

    @Test func `T8: A new request makes an attempt at once if the service was stopped`() {
        var machine = open("a")
        check(machine.wake(), [])
        machine.stopping()
        _ = machine.ended(1, trouble: "It ended.")
        // The user has stopped the service, so its absence is not reported.
        check(machine.ended(2, trouble: "It was stopped."), [.connect(attempt: 3, after: .milliseconds(50))])
        check(machine.wasStopped && machine.isUnreachable, true)
        check(machine.wake(), [.connect(attempt: 4, after: .zero)])
        check(machine.wasStopped || machine.isUnreachable || machine.isDue(3), false)
        check(machine.wake(), [])
    }

    @Test func `L1: A dropped channel carries no requests, and its end is not a failure`() {
        var machine = open("a")
        check(machine.drop(hello("b")), [])
        check(machine.drop(hello("a")), [.stopReading(attempt: 1)])
        check(machine.drop(hello("a")), [])
        check(machine.channel, "a")
        check(machine.requestAccess(failsFast: true).access, .waiting(2))
        check(machine.ended(1, trouble: "It ended."), [.connect(attempt: 2, after: .zero)])
        check(machine.channel, nil)
        check(machine.isUnreachable, false)
    }

    @Test func `T8: A channel on which a request timed out has one check, and an answer is reported once`() {
        var machine = open("a")
        check(machine.doubt(hello("b")), [])
        check(machine.doubt(hello("a")), [.check(hello("a"))])
        check(machine.doubt(hello("a")), [])
        check(machine.answered(hello("a")), [.reportReconnect])
        check(machine.doubt(hello("a")), [.check(hello("a"))])
        _ = machine.ended(1, trouble: "It ended.")
        check(machine.answered(hello("a")), [])
    }

    @Test func `T8: A closed channel resumes all callers and stays closed`() {
        var machine = ChannelMachine()
        _ = machine.requestAccess(failsFast: false)
        _ = machine.requestAccess(failsFast: true)
        check(machine.close(), [.stopReading(attempt: 1), .resume([1, 2])])
        check(machine.requestAccess(failsFast: false).access, .closed)
        check(machine.connected(1), false)
        machine.greeted(hello("a"))
        check(machine.opened() + machine.ended(1, trouble: "It ended.") + machine.wake(), [])
        check(machine.phase, .closed)
    }
}
