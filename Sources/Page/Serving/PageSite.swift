package import NightshiftClient

/// What a page shows, whoever serves it: its own files, the words it needs, and the service behind it.
package struct PageSite: Sendable {
    let assets: Assets
    let setup: Setup
    let client: ServiceClient

    /// - Parameter downloads: where files go that are added in the page.
    package init(client: ServiceClient, downloads: String) {
        assets = Assets()
        setup = Setup(downloads: downloads)
        self.client = client
    }
}
