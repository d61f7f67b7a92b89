import PushCluster
import Testing

@Suite struct NATSSettingsTests {
    @Test(arguments: [
        ("nats://user:secret@n1:4222", "nats://n1:4222"), ("tls://secret@n2", "tls://n2"),
        ("nats://user:secret@with@n3:4222", "nats://n3:4222"), ("user:secret@n4", "n4"),
        ("nats://n5:4222", "nats://n5:4222"),
    ])
    func `R5: The description of a server's URL omits the user and the password`(url: String, printed: String) {
        let settings = NATSSettings(servers: [url])
        #expect(settings.servers.map(\.description) == [printed])
        #expect(!"\(settings)".contains("secret"))
        #expect(settings.servers.map(\.url) == [url])
    }
}
