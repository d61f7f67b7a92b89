import ArgumentParser
import PushGateway

struct Device: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Devices: who is sent to.", subcommands: [List.self, Show.self, Revoke.self])

    struct List: AskingCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the devices.")
        @OptionGroup var asking: AskingOptions
        var request: AdministrationRequest { .devices }
    }

    struct Show: AskingCommand {
        static let configuration = CommandConfiguration(abstract: "Shows a device, its tokens, and what waits for it.")
        @OptionGroup var asking: AskingOptions
        @Argument var id: String
        var request: AdministrationRequest { .device(id: id) }
    }

    struct Revoke: AskingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lets a device in no more; its tokens answer 410, and what waits for it is discarded.")
        @OptionGroup var asking: AskingOptions
        @Argument var id: String
        var request: AdministrationRequest { .revokeDevice(id: id) }
    }
}

struct Enrolment: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Codes that make devices.", subcommands: [Create.self])

    struct Create: AskingCommand {
        static let configuration = CommandConfiguration(abstract: "Prints a URL with a code that makes one device.")
        @OptionGroup var asking: AskingOptions
        @Option(help: "The device's name, where it gives none itself.") var name = "device"
        @Option(help: "Seconds for which the code is good.") var lifetime = 3_600
        var request: AdministrationRequest { .enrol(name: name, lifetime: lifetime) }
    }
}

struct Push: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "What became of pushes.", subcommands: [Show.self])

    struct Show: AskingCommand {
        static let configuration = CommandConfiguration(abstract: "Tells the story of one push.")
        @OptionGroup var asking: AskingOptions
        @Argument(help: "Its apns-id.") var id: String
        var request: AdministrationRequest { .push(id: id) }
    }
}

struct Log: AskingCommand {
    static let configuration = CommandConfiguration(abstract: "Prints the delivery log.")
    @OptionGroup var asking: AskingOptions
    @Option(help: "The last so many entries.") var count = 50
    @Flag(help: "Goes on with what comes.") var follow = false
    var request: AdministrationRequest { .log(count: count, follow: follow) }
}

struct Status: AskingCommand {
    static let configuration = CommandConfiguration(abstract: "Prints how much the gateway holds.")
    @OptionGroup var asking: AskingOptions
    var request: AdministrationRequest { .status }
}
