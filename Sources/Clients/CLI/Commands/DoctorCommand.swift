import ArgumentParser
import NightshiftAPI

struct DoctorCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check everything the service depends on, and advise what to do.",
        discussion: """
            This command changes nothing and starts nothing. The exit code is 1 if a check fails.

            Examples:
              nightshift doctor
              nightshift doctor --json
            """)

    @OptionGroup var format: JSONOption

    private struct Document: Encodable {
        var checks: [Finding]
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let findings = await DoctorChecks(invocation: invocation).findings()
        if format.json {
            try invocation.json(Document(checks: findings))
        } else {
            let style = Style(isEnabled: invocation.output.allowsColor)
            invocation.output.lines(findings.map { $0.line(style) })
        }
        return findings.contains { $0.result == .fail } ? .failed : .whole
    }
}
