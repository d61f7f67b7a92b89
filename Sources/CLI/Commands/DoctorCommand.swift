import ArgumentParser
import NightshiftAPI

struct DoctorCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check everything the service depends on, and say what to do.",
        discussion: """
            Changes nothing and starts nothing. The exit code is 1 when a check fails.

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
