import ArgumentParser
import Testing

@testable import CLI

struct HelpTests {
    static let commands: [any ParsableCommand.Type] = [
        GetCommand.self, PutCommand.self, ListCommand.self, ShowCommand.self, WhyCommand.self, WatchCommand.self,
        WaitCommand.self, PauseCommand.self, ResumeCommand.self, CancelCommand.self, RemoveCommand.self,
        SetCommand.self, LimitCommand.self, StatusCommand.self, ServiceCommand.self, ServiceRunCommand.self,
        ServiceStartCommand.self, ServiceStopCommand.self, ServiceInstallCommand.self, ServiceUninstallCommand.self,
        DoctorCommand.self, CompletionsCommand.self, AppCommand.self, AppInstallCommand.self, AppRemoveCommand.self,
        AppListCommand.self, AppShowCommand.self, AppWhyCommand.self, AppLaunchCommand.self, AppActivateCommand.self,
        AppBackgroundCommand.self, AppQuitCommand.self, AppKillCommand.self, AppLogCommand.self,
        AppSnapshotCommand.self, AppPolicyCommand.self, DeviceCommand.self, DeviceShowCommand.self,
        DeviceSetCommand.self, DeviceUnsetCommand.self, DevicePolicyCommand.self, DeviceDozeCommand.self,
        DeviceWindowCommand.self, DeviceWakeCommand.self, JournalCommand.self, TaskCommand.self,
        TaskRunCommand.self, SimulateCommand.self, TimelineCommand.self, RetargetCommand.self, RetryCommand.self,
        RefreshCommand.self, AppRefreshCommand.self, AppExpireCommand.self, AppScheduleCommand.self,
        PageCommand.self, LocationCommand.self, AppLocationCommand.self, RegionCommand.self, RegionAddCommand.self,
        RegionListCommand.self, RegionRemoveCommand.self,
    ]

    @Test func root() throws {
        try Fixture.check("help", NightshiftCommand.helpMessage(columns: 80))
    }

    @Test(arguments: commands.map { String(describing: $0) })
    func every(_ type: String) throws {
        let command = try #require(Self.commands.first { String(describing: $0) == type })
        let name = type.replacing("Command", with: "").lowercased()
        try Fixture.check("help-\(name)", NightshiftCommand.helpMessage(for: command, columns: 80))
        // Promised for every command that is not only a heading.
        if command is any ClientCommand.Type {
            #expect(NightshiftCommand.helpMessage(for: command).contains("--json"))
            #expect(command.configuration.discussion.contains("Examples:\n"))
        }
    }
}
