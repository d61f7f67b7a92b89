import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct DeviceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device",
        abstract: "Show the device state, and override it for testing.",
        discussion: """
            Power, network, use and free space decide when transfers and background work of apps may run. A device on \
            battery that nobody uses dozes: background work is paused, and waiting work runs in maintenance windows.

            Without a subcommand, the device state is shown.

            Examples:
              nightshift device
              nightshift device set power=battery idle=yes
              nightshift device doze
              nightshift device unset --all
            """,
        subcommands: [
            DeviceShowCommand.self, DeviceSetCommand.self, DeviceUnsetCommand.self, DevicePolicyCommand.self,
            DeviceDozeCommand.self, DeviceWindowCommand.self, DeviceWakeCommand.self,
        ],
        defaultSubcommand: DeviceShowCommand.self)
}

extension Invocation {
    var deviceReport: DeviceStatusReport {
        DeviceStatusReport(times: times, style: Style(isEnabled: output.allowsColor))
    }

    /// Changes settings or overrides of the device, and prints the result.
    func change(_ change: DeviceChange, json: Bool) async throws -> ExitStatus {
        try await service.ready()
        let device = try await service.client.send(.changeDevice(change))
        if json {
            try self.json(device)
        } else {
            output.lines(deviceReport.lines(settings: device))
        }
        return .whole
    }

    /// Requests a phase of doze, and prints the phase that follows.
    func request(_ phase: DozePhase, json: Bool) async throws -> ExitStatus {
        try await service.ready()
        let device = try await service.client.send(.doze(DozeRequest(phase: phase)))
        if json {
            try self.json(device)
        } else {
            output.line(deviceReport.line(device.doze))
        }
        return .whole
    }
}
