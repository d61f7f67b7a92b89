import ArgumentParser
import NightshiftAPI
import NightshiftClient

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

struct ServiceStopCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop",
        abstract: "Stop the service. Transfers continue when it runs again.",
        discussion: """
            Returns when the service has stopped. The next command that needs it starts it again. A 'nightshift get' \
            that is still running on another terminal also starts it.

            Examples:
              nightshift service stop
            """)

    @OptionGroup var format: JSONOption

    /// The maximum time that the command waits for the service to stop. The service stops within 2 s unless a disk is
    /// stuck.
    private static let timeout: Duration = .seconds(15)

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let service = invocation.service
        guard try invocation.serviceRuns() else {
            try printResult("The service does not run.", invocation)
            return .whole
        }
        // The process id is read before the service is asked to stop. A later connection to the socket would make
        // systemd start the service again.
        let process = try await service.client.send(.status).processID
        try await service.client.send(.shutdown)
        let clock = ContinuousClock()
        let deadline = clock.now + Self.timeout
        while true {
            // The deadline is checked first. So the last check of the process comes after the deadline, even on a busy
            // machine.
            let isLastLook = clock.now >= deadline
            guard kill(process, 0) == 0 else { break }
            guard !isLastLook else {
                throw CommandFailure.failed("The service (process \(process)) was asked to stop, but is still running.")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        let returns =
            invocation.hasDefaultHome && invocation.userManager.state(of: UserManager.socket)?.isActive == true
        try printResult(
            "The service is stopped."
                + (returns
                    ? " systemd starts it again when it is needed. 'nightshift service uninstall' prevents this." : ""),
            invocation)
        return .whole
    }

    private func printResult(_ words: String, _ invocation: Invocation) throws {
        if format.json {
            try invocation.json(ServiceChange(isRunning: false))
        } else {
            invocation.output.line(words)
        }
    }
}
