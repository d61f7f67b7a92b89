import ArgumentParser
import PushGateway

struct Device: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Manages the devices that receive pushes.", subcommands: [List.self, Show.self, Revoke.self])

    struct List: AskingCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the devices.")
        @OptionGroup var asking: AskingOptions
        var request: AdministrationRequest { .devices }
    }

    struct Show: AskingCommand {
        static let configuration = CommandConfiguration(abstract: "Shows a device, its tokens, and its waiting pushes.")
        @OptionGroup var asking: AskingOptions
        @Argument var id: String
        var request: AdministrationRequest { .device(id: id) }
    }

    struct Revoke: AskingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Revokes a device. Its tokens answer 410, and its waiting pushes are discarded.")
        @OptionGroup var asking: AskingOptions
        @Argument var id: String
        var request: AdministrationRequest { .revokeDevice(id: id) }
    }
}

struct Enrolment: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Manages codes that enrol devices.", subcommands: [Create.self])

    struct Create: AskingCommand {
        static let configuration = CommandConfiguration(abstract: "Prints a URL with a code that enrols one device.")
        @OptionGroup var asking: AskingOptions
        @Option(help: "The device's name, if the device sends none.") var name = "device"
        @Option(help: "Seconds for which the code is valid.") var lifetime = 3_600
        var request: AdministrationRequest { .enrol(name: name, lifetime: lifetime) }
    }
}

struct PushCommands: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push", abstract: "Shows what happened to pushes.", subcommands: [Show.self])

    struct Show: AskingCommand {
        static let configuration = CommandConfiguration(abstract: "Shows the log of one push.")
        @OptionGroup var asking: AskingOptions
        @Argument(help: "The push's id, from the response header apns-id.") var id: String
        var request: AdministrationRequest { .push(id: id) }
    }
}

struct Log: AskingCommand {
    static let configuration = CommandConfiguration(abstract: "Prints the delivery log.")
    @OptionGroup var asking: AskingOptions
    @Option(help: "The number of most recent entries to print.") var count = 50
    @Flag(help: "Also prints new entries as they arrive.") var follow = false
    var request: AdministrationRequest { .log(count: count, follow: follow) }
}

struct Status: AskingCommand {
    static let configuration = CommandConfiguration(abstract: "Prints the gateway's status.")
    @OptionGroup var asking: AskingOptions
    var request: AdministrationRequest { .status }
}
