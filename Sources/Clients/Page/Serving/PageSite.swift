package import NightshiftClient

/// The content of a page: its own files, its constants, and a client of the service.
package struct PageSite: Sendable {
    let assets: Assets
    let setup: Setup
    let client: ServiceClient
    let timelines: TimelineSource

    /// Creates the content of a page.
    ///
    /// - Parameters:
    ///   - downloads: the folder that the page proposes for downloads.
    ///   - home: the user's home folder.
    package init(client: ServiceClient, downloads: String, home: String) {
        assets = Assets()
        setup = Setup(downloads: downloads, home: home)
        self.client = client
        timelines = TimelineSource(client: client)
    }
}
