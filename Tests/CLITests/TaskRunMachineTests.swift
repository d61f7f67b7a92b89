import Testing

@testable import CLI

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Tests of decisions about a program that is run as background work (mission row L2).
struct TaskRunMachineTests {
    /// A machine in a class, so that expectations can call its mutating methods.
    private final class Decider {
        private var machine: RunMachine

        init(name: String, isInApp: Bool) { machine = RunMachine(name: name, isInApp: isInApp) }

        func heard(_ event: ProcessChannel.Event) -> [RunMachine.Action] { machine.heard(event) }

        func heard(_ event: GatedProcess.Event) -> [RunMachine.Action] { machine.heard(event) }

        func received(_ number: Int32) -> [RunMachine.Action] { machine.received(number) }

        func timeoutIsOver() -> [RunMachine.Action] { machine.timeoutIsOver() }
    }

    private func running(isInApp: Bool = false) -> Decider {
        let machine = Decider(name: "n", isInApp: isInApp)
        _ = machine.heard(.granted)
        return machine
    }

    @Test func `L2: The program starts once, when the service has accepted it`() {
        let machine = Decider(name: "n", isInApp: false)
        #expect(machine.heard(.granted) == [.begin])
        // The service accepts it again after a reconnection.
        #expect(machine.heard(.granted).isEmpty)
        #expect(machine.timeoutIsOver().isEmpty)
        #expect(machine.heard(.ended(.exited(0))) == [.finish(.exited(0))])
    }

    @Test func `L2: A refusal, a timeout or a signal before the start prevents the program's start`() {
        let machine = Decider(name: "n", isInApp: false)
        let refused = machine.heard(.refused("no"))
        #expect(refused == [.abandon, .print("n was not started: no"), .finish(.refused("no"))])
        #expect(machine.heard(.granted).isEmpty && machine.heard(.ended(.exited(0))).isEmpty)
        #expect(Decider(name: "n", isInApp: false).timeoutIsOver().first == .abandon)
        #expect(Decider(name: "n", isInApp: false).received(SIGINT) == [.abandon, .finish(.signalled(SIGINT))])
    }

    @Test func `L2: The command lets a refused program that already runs continue, and prints the refusal`() {
        let machine = running()
        #expect(machine.heard(.refused("no")) == [.print("n continues without the service, which has refused it: no")])
        #expect(machine.heard(.ended(.signalled(SIGKILL))) == [.finish(.signalled(SIGKILL))])
    }

    @Test(arguments: [(SIGTERM, true), (SIGKILL, true), (SIGINT, false), (SIGSEGV, false)])
    func `L2: A program that SIGTERM or SIGKILL ends after the warning counts as overdue`(
        _ number: Int32, _ isOverdue: Bool
    ) {
        let machine = running()
        #expect(machine.heard(.expiring).count == 1)
        #expect(machine.heard(.expiring).isEmpty)
        let end = machine.heard(.ended(.signalled(number))).last
        #expect(end == .finish(isOverdue ? .overdue(number) : .signalled(number)))
        let other = running()
        _ = other.heard(.expiring)
        #expect(other.heard(.ended(.exited(0))) == [.finish(.exited(0))])
    }

    @Test func `L2: After the warning, the command sends SIGTERM only to a program in an app`() {
        #expect(running(isInApp: true).heard(.expiring).last == .signal(SIGTERM))
        #expect(!running().heard(.expiring).contains(.signal(SIGTERM)))
    }

    @Test func `L2: The command stops when the user stops its program, but not when the service does`() {
        let machine = running()
        #expect(machine.heard(.stopped(SIGSTOP)).isEmpty)
        #expect(machine.heard(.stopped(SIGTSTP)) == [.stopAlong(SIGTSTP)])
        #expect(machine.received(SIGTERM) == [.signal(SIGTERM)])
    }
}
