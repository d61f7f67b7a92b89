import ArgumentParser

struct RegionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "region",
        abstract: "Manage regions: an app is woken when the device enters or leaves one.",
        discussion: """
            A region is a circle around a location. An app that links the library adds its own regions. For a script, \
            you add them with this command. A region event occurs when the device has been on the other side of the \
            boundary for 20 seconds. An app has at most 20 regions, and is woken only if you allow it with \
            'nightshift app location ID --always'.

            Without a subcommand, all regions are listed.

            Examples:
              nightshift region add home 52.5163,13.3777 150 --app org.example.Arrivals
              nightshift region list
              nightshift region remove home --app org.example.Arrivals
            """,
        subcommands: [RegionAddCommand.self, RegionListCommand.self, RegionRemoveCommand.self],
        defaultSubcommand: RegionListCommand.self)
}
