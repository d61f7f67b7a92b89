import ArgumentParser
import Foundation
import NightshiftAPI
import NightshiftClient

/// A subcommand that is a client of the service.
protocol ClientCommand: ParsableCommand {
    func run(_ invocation: Invocation) async throws -> ExitStatus
}

/// The `nightshift` program, from its arguments to its exit code.
package enum CommandLineProgram {
    package static func run(_ invocation: Invocation) async -> ExitStatus {
        let status = await perform(invocation)
        guard let error = invocation.output.failure() else { return status }
        let reason = String(cString: strerror(error))
        let failed = report(.failed("Not all of the output could be written: \(reason)."), invocation)
        return status == .whole ? failed : status
    }

    private static func perform(_ invocation: Invocation) async -> ExitStatus {
        do {
            if let mistake = invocation.mistake { throw CommandFailure.usage(mistake) }
            var command = try NightshiftCommand.parseAsRoot(invocation.arguments)
            guard let client = command as? any ClientCommand else {
                try command.run()
                return .whole
            }
            try invocation.check()
            return try await client.run(invocation)
        } catch let failure as CommandFailure {
            return report(failure, invocation)
        } catch let problem as Problem {
            return report(CommandFailure(problem), invocation)
        } catch let failure as ServiceUnreachable {
            // systemd accepts connections for a service that it cannot start.
            let message = invocation.service.launcher.unitFailure() ?? failure.message
            return report(.unreachable(message), invocation)
        } catch let failure as ServiceUnusable {
            return report(.unreachable(failure.message), invocation)
        } catch is CancellationError {
            return .interrupted
        } catch {
            return report(parserError: error, invocation)
        }
    }

    /// Prints a message of the argument parser. Help and versions go to standard output, and mistakes go to standard
    /// error.
    private static func report(parserError error: any Error, _ invocation: Invocation) -> ExitStatus {
        switch NightshiftCommand.exitCode(for: error) {
        case .success:
            if let message = UnknownWord.message(aboutHelp: invocation.arguments) {
                return report(.usage(message), invocation)
            }
            invocation.output.line(HelpText.message(for: error, columns: invocation.output.helpColumns))
            return .whole
        case .validationFailure:
            if let message = UnknownWord.message(invocation.arguments) { return report(.usage(message), invocation) }
            let message = HelpText.mistake(error, withUsage: !wantsJSON(invocation))
            return report(.usage(SecretArguments.hidden(in: message, invocation.arguments)), invocation)
        default:
            return report(.failed(NightshiftCommand.message(for: error)), invocation)
        }
    }

    private static func report(_ failure: CommandFailure, _ invocation: Invocation) -> ExitStatus {
        if wantsJSON(invocation), let document = try? JSON.encode(ErrorReport(failure)) {
            invocation.errors.write(document + Data("\n".utf8))
        } else {
            invocation.errors.line("nightshift: " + TerminalText.escaped(failure.message, keepingNewlines: true))
        }
        return failure.status
    }

    private static func wantsJSON(_ invocation: Invocation) -> Bool {
        invocation.arguments.prefix { $0 != "--" }.contains("--json")
    }
}
