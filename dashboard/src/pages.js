// The pages, in the order of the menu. A new capability, such as phenomena, adds a line here: its title, the
// picture of its menu entry (paths of a 24 by 24 icon), its component, and whether it follows the time bar.
import AlertsPage from './alerts/AlertsPage.svelte';
import EditorPage from './editor/EditorPage.svelte';
import FieldPage from './field/FieldPage.svelte';
import PeersPage from './peers/PeersPage.svelte';
import QueriesPage from './queries/QueriesPage.svelte';
import SpectrumPage from './spectrum/SpectrumPage.svelte';
import StreamsPage from './streams/StreamsPage.svelte';

export const PAGES = [
  { id: 'field', title: 'Field', icon: 'M12 21s-6-5.2-6-10a6 6 0 0 1 12 0c0 4.8-6 10-6 10Z M12 13a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z', component: FieldPage, timed: true },
  { id: 'queries', title: 'Queries', icon: 'M3 17l5-6 4 3 8-9 M15 5h5v5', component: QueriesPage, timed: true },
  { id: 'editor', title: 'Editor', icon: 'M8 8l-4 4 4 4 M16 8l4 4-4 4 M13.5 5l-3 14', component: EditorPage },
  { id: 'streams', title: 'Streams', icon: 'M3 7c3-3 6 3 9 0s6 3 9 0 M3 12c3-3 6 3 9 0s6 3 9 0 M3 17c3-3 6 3 9 0s6 3 9 0', component: StreamsPage },
  { id: 'alerts', title: 'Alerts', icon: 'M6 16V11a6 6 0 0 1 12 0v5l1.5 2h-15L6 16Z M10 21h4', component: AlertsPage },
  { id: 'spectrum', title: 'Spectrum', icon: 'M3 20h18 M5 20v-6 M9 20V5 M13 20v-9 M17 20v-4', component: SpectrumPage },
  { id: 'peers', title: 'Peers', icon: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18Z M12 5.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5Z M19.8 19a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5Z M4.2 19a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5Z', component: PeersPage },
];
