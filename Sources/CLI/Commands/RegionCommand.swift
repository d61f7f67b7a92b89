import ArgumentParser

struct RegionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "region",
        abstract: "Watch regions for apps: they are woken when the device enters or leaves one.",
        discussion: """
            A region is a circle around a place. An app that links the library adds its own; for a script its user \
            does it here. A crossing counts when the device has been beyond the boundary for 20 seconds. An app has \
            at most 20 regions, and is woken only where its user lets it: 'nightshift app location ID --always'.

            Without a subcommand they are listed.

            Examples:
              nightshift region add home 52.5163,13.3777 150 --app org.example.Arrivals
              nightshift region list
              nightshift region remove home --app org.example.Arrivals
            """,
        subcommands: [RegionAddCommand.self, RegionListCommand.self, RegionRemoveCommand.self],
        defaultSubcommand: RegionListCommand.self)
}
